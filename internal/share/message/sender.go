package message

import (
	"crypto/cipher"
	"errors"
	"math"
	"math/rand/v2"
)

// Sender seals one's own reports and says when they are due.
type Sender struct {
	r        *Receiver
	aead     cipher.AEAD
	sequence uint32
	lastNs   int64
	jitter   float64
	extra    bool // the next report goes at once, beside those that are due,
	owed     bool // and the pause after the one that is due then is a period longer
	random   *rand.Rand
	body     []byte
	echoes   []uint64
}

// jitterPart is how much a period is longer or shorter at most, so that terminals do not fall into
// step.
const jitterPart = 0.1

// NewSender makes the Sender of a Receiver's session: one Receiver has one.
func NewSender(r *Receiver, nowNs int64) *Sender {
	s := &Sender{r: r, aead: sessionCipher(r.key, r.session), lastNs: nowNs, random: rand.New(r.random)}
	// Many may have started at this moment, when the power came back.
	s.jitter = s.random.Float64()
	return s
}

// DueNs is when the next report is due, by what is known now: in a period since the last, more or
// less, which becomes longer with each terminal that is heard. Who waits for it has to ask again
// when it has come, as RTCP does (timer reconsideration, RFC 3550, 6.3.3): where many start at
// once, each hears others meanwhile and waits longer.
func (s *Sender) DueNs(nowNs int64) int64 {
	if s.extra {
		return nowNs
	}
	return s.regularNs(nowNs)
}

func (s *Sender) regularNs(nowNs int64) int64 {
	return s.lastNs + int64(s.jitter*float64(s.periodNs(nowNs)))
}

// SendEarly makes a report due at once, where MaySendEarly says so: what is new is heard sooner,
// and twice within a period. A later report is left out for it, until which there is no other such
// one, so that they are no more.
func (s *Sender) SendEarly() { s.extra = s.MaySendEarly() }

// MaySendEarly says whether there may be a report now beside those that are due.
func (s *Sender) MaySendEarly() bool { return !s.extra && !s.owed }

func (s *Sender) periodNs(nowNs int64) int64 { return s.r.reckonPeriodNs(nowNs) }

// ErrExhausted is a session that has used all its sequence numbers, which takes 13 years. Make a
// new Receiver and Sender.
var ErrExhausted = errors.New("the session has no sequence numbers left: begin another")

// Seal appends a report as a datagram to dst. The session, the sequence number and the period of
// the report are filled in. An error says what of the report is beyond its limits.
func (s *Sender) Seal(dst []byte, report Report, nowNs int64) ([]byte, error) {
	if s.sequence == math.MaxUint32 {
		return dst, ErrExhausted
	}
	nowNs = s.r.look(nowNs)
	report.Session, report.Sequence = s.r.session, s.sequence+1
	report.PeriodMs = uint32(min(max(s.periodNs(nowNs)/1e6, LowestPeriodMs), HighestPeriodMs))
	if err := report.Check(); err != nil {
		return dst, err
	}
	var err error
	var wanting int
	s.echoes, wanting = s.r.answers(s.echoes[:0], nowNs)
	if s.body, err = appendBody(s.body[:0], &report, s.r.challenge, s.echoes, wanting); err != nil {
		return dst, err
	}
	s.sequence++
	start := len(dst)
	dst = seal(dst, s.aead, header{s.r.tag, s.r.session, s.sequence}, s.body)
	s.r.size = len(dst) - start
	early := s.extra && nowNs < s.regularNs(nowNs)
	s.extra = false
	if early {
		s.owed = true
		return dst, nil
	}
	s.lastNs = nowNs
	s.jitter = 1 - jitterPart + 2*jitterPart*s.random.Float64()
	if s.owed {
		s.owed = false
		s.jitter++
	}
	return dst, nil
}
