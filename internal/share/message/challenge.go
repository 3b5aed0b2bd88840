package message

import (
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"slices"
)

// A challenge is a random number in the reports of a terminal. An answer proves that its sender is
// running now. The present and the previous challenge are accepted.
const (
	shortestRotationNs = 30e9
	periodsPerRotation = 64
	// answersAtOnce is the number of answers to a new challenge that are sent as soon as there is
	// room. With a loss of 30 %, all three answers are lost once in 37 times. Then the sender asks
	// again.
	answersAtOnce = 3
	// answersAlways is the least number of answers in a report. Sessions that are not confirmed
	// come first, then all in turn.
	answersAlways = 4
)

// systemRandom draws numbers from the system's source of randomness.
type systemRandom struct{}

func (systemRandom) Uint64() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return binary.LittleEndian.Uint64(b[:])
}

// number returns a random number other than zero. Zero means no number.
func (r *Receiver) number() uint64 {
	for {
		if n := r.random.Uint64(); n != 0 {
			return n
		}
	}
}

// rotate replaces the challenge.
func (r *Receiver) rotate(nowNs int64) {
	r.previous = r.challenge
	r.challenge = r.number()
	r.rotation++
	r.rotatedNs = nowNs
}

// sourceKey is the secret of a hub. It derives a different challenge for each source.
type sourceKey [sha256.Size]byte

// newSourceKey returns a random key.
func newSourceKey(r *Receiver) *sourceKey {
	k := &sourceKey{}
	for i := 0; i < len(k); i += 8 {
		binary.LittleEndian.PutUint64(k[i:], r.number())
	}
	return k
}

// challengeFor returns the challenge for a source. A terminal has one challenge for all sources. A
// hub's challenge is a keyed hash of the rotation and the source address, so a member cannot answer
// it for an address at which it does not receive.
func (r *Receiver) challengeFor(rotating uint64, source netip.AddrPort) uint64 {
	if r.bySource == nil {
		return rotating
	}
	h := hmac.New(sha256.New, r.bySource[:])
	text, _ := source.MarshalBinary() // never fails
	h.Write(binary.LittleEndian.AppendUint64(text, rotating))
	return max(binary.LittleEndian.Uint64(h.Sum(nil)), 1)
}

// rotationNs returns the time for which a challenge is the present challenge.
func (r *Receiver) rotationNs() int64 { return max(shortestRotationNs, periodsPerRotation*r.periodNs) }

// rotateWhenDue replaces an old challenge. If the time of two rotations has passed, it replaces
// both challenges.
func (r *Receiver) rotateWhenDue(nowNs int64) {
	every := r.rotationNs()
	if nowNs-r.rotatedNs >= 2*every {
		r.rotate(nowNs)
		r.rotate(nowNs)
	} else if nowNs-r.rotatedNs >= every {
		r.rotate(nowNs)
	}
}

// proof returns the newest rotation whose challenge a report answers, or zero. wanting means that
// the sender needs an answer from this terminal.
func (r *Receiver) proof(b *body, from netip.AddrPort) (rotation uint64, wanting bool) {
	if answered, wanting := b.echoed(r.challengeFor(r.challenge, from)); answered {
		return r.rotation, wanting
	}
	if r.previous != 0 {
		if answered, wanting := b.echoed(r.challengeFor(r.previous, from)); answered {
			return r.rotation - 1, wanting
		}
	}
	return 0, false
}

// answers appends the challenges that the next report answers. wanting is the number of challenges
// of sessions that are not confirmed; they come first. It prefers new challenges, then unconfirmed
// sessions, then the longest wait.
func (r *Receiver) answers(dst []uint64, nowNs int64) (challenges []uint64, wanting int) {
	r.report++
	waiting := r.scratch[:0]
	for _, s := range r.sessions {
		if !s.silent(nowNs, r.periodNs) && !s.left() {
			s.wanting = !s.confirmed(r.rotation)
			waiting = append(waiting, s)
		}
	}
	for _, s := range r.hubs.sessions {
		waiting = append(waiting, s)
	}
	slices.SortFunc(waiting, func(a, b *session) int {
		return cmp.Or(cmp.Compare(min(a.answers, answersAtOnce), min(b.answers, answersAtOnce)),
			first(a.wanting, b.wanting), cmp.Compare(a.answered, b.answered), cmp.Compare(a.firstHeard, b.firstHeard))
	})
	n := 0
	for n < len(waiting) && n < MaxEchoes && (n < answersAlways || waiting[n].answers < answersAtOnce) {
		n++
	}
	slices.SortStableFunc(waiting[:n], func(a, b *session) int { return first(a.wanting, b.wanting) })
	for _, s := range waiting[:n] {
		s.answers++
		s.answered = r.report
		dst = append(dst, s.challenge)
		if s.wanting {
			wanting++
		}
	}
	clear(waiting) // frees forgotten sessions
	r.scratch = waiting[:0]
	return dst, wanting
}

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
