package medium

import "math/bits"

// step is contenders of one kind whose slots began to count at the same time: all but those that
// have just failed, or have got a packet while the medium was idle. They count together, so that a
// frame costs the same work however many they are: each has a slot at which its back-off ends, and
// the slots that have passed are counted once for all.
type step struct {
	slotNs, aifsNs int64
	edca           bool

	startNs int64 // when slots count
	passed  int64 // slots until then, since the beginning
	// due are the contenders with something to send by the slots at which their back-offs end,
	// modulo its length: the first of each, whose after is the next. A back-off is shorter than it.
	// set has a bit for each that is not nobody.
	due []int32
	set []uint64
	any int // how many contenders there are
	// soonest is the first slot that is due; unknown after it was taken.
	soonest int64
}

const (
	nobody  = -1
	unknown = -1
)

// grow makes room for back-offs of a contention window.
func (s *step) grow(cwMax int) {
	n := 64
	for n <= cwMax {
		n *= 2
	}
	if n <= len(s.due) {
		return
	}
	s.due, s.set = make([]int32, n), make([]uint64, n/64)
	for i := range s.due {
		s.due[i] = nobody
	}
}

func (s *step) at(slot int64) int { return int(slot) & (len(s.due) - 1) }

// first is the first slot that is due, of which none is before a slot; something is due.
func (s *step) first(from int64) int64 {
	if s.soonest != unknown {
		return s.soonest
	}
	at := s.at(from)
	word, bit := at/64, at%64
	if w := s.set[word] >> bit; w != 0 {
		s.soonest = from + int64(bits.TrailingZeros64(w))
		return s.soonest
	}
	for n := 1; ; n++ {
		if w := s.set[(word+n)&(len(s.set)-1)]; w != 0 {
			s.soonest = from + int64(64*n-bit+bits.TrailingZeros64(w))
			return s.soonest
		}
	}
}

// nextNs is when the first of them transmits if the medium stays idle.
func (s *step) nextNs() int64 {
	if s.any == 0 {
		return never
	}
	return s.startNs + (s.first(s.passed)-s.passed)*s.slotNs
}

// add has a contender transmit at its slot.
func (s *step) add(m *Medium, i int32) {
	c := &m.contenders[i]
	at := s.at(c.end)
	c.after, s.due[at] = s.due[at], i
	s.set[at/64] |= 1 << (at % 64)
	if s.any == 0 || s.soonest != unknown && c.end < s.soonest {
		s.soonest = c.end
	}
	s.any++
}

// take appends those that are due at a slot, which are so no more.
func (s *step) take(m *Medium, slot int64, to []int32) []int32 {
	at := s.at(slot)
	for i := s.due[at]; i != nobody; i = m.contenders[i].after {
		to = append(to, i)
		s.any--
	}
	s.due[at] = nobody
	s.set[at/64] &^= 1 << (at % 64)
	s.soonest = unknown
	return to
}

// freeze counts the slots that have passed until a frame was heard. A back-off that would have
// ended with the last of them, as a frame that did not begin at a slot was heard, has no slot left.
func (s *step) freeze(m *Medium, heardNs int64) {
	before := s.passed
	s.passed += slotsBefore(heardNs, s.startNs, s.slotNs, s.edca)
	for s.any > 0 {
		slot := s.first(before)
		if slot >= s.passed {
			return
		}
		m.late = s.take(m, slot, m.late[:0])
		for _, i := range m.late {
			m.contenders[i].end = s.passed
			s.add(m, i)
		}
	}
}

// join has a contender that counts by itself, whose slots count from the same time on, count with
// the others.
func (s *step) join(m *Medium, i int32, wants bool) {
	c := &m.contenders[i]
	c.together, c.end, c.accessNs = true, s.passed+c.slots, never
	if wants {
		c.accessNs = withOthers
		s.add(m, i)
	}
}

// leave has a contender without something to send count by itself.
func (m *Medium) leave(i int) {
	c := &m.contenders[i]
	if !c.together {
		return
	}
	s := &m.steps[c.step]
	c.together, c.startNs, c.slots = false, s.startNs, max(0, c.end-s.passed)
	m.apart = append(m.apart, int32(i))
}
