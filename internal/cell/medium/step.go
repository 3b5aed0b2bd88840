package medium

import "math/bits"

// step is a group of contenders of one kind whose slots started at the same time. Contenders that
// have just failed, or that got a packet on an idle medium, count separately. A step keeps the slot
// at which each back-off ends and counts elapsed slots once for all, so a frame costs the same work
// for any number of contenders.
type step struct {
	slotNs, aifsNs int64
	edca           bool

	startNs int64 // when slots count
	passed  int64 // slots until then, since the beginning
	// due holds the first contender whose back-off ends at a slot, modulo the length of due; its
	// after is the next one. A back-off is shorter than due. set has one bit for each occupied
	// slot.
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
	s.due = make([]int32, n)
	s.set = make([]uint64, n/64)
	for i := range s.due {
		s.due[i] = nobody
	}
}

func (s *step) at(slot int64) int { return int(slot) & (len(s.due) - 1) }

// first returns the first occupied slot. No slot before from is occupied, and one after it is.
func (s *step) first(from int64) int64 {
	if s.soonest != unknown {
		return s.soonest
	}
	at := s.at(from)
	word := at / 64
	bit := at % 64
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

// nextNs returns the time of the first transmission if the medium stays idle.
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
	c.after = s.due[at]
	s.due[at] = i
	s.set[at/64] |= 1 << (at % 64)
	if s.any == 0 || s.soonest != unknown && c.end < s.soonest {
		s.soonest = c.end
	}
	s.any++
}

// take removes the contenders due at a slot and appends them to a list.
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

// join adds a contender whose slots start at the same time as those of the step.
func (s *step) join(m *Medium, i int32, wants bool) {
	c := &m.contenders[i]
	c.inStep = true
	c.end = s.passed + c.slots
	c.accessNs = never
	if wants {
		c.accessNs = countedInStep
		s.add(m, i)
	}
}

// leave makes a contender without packets count separately.
func (m *Medium) leave(i int) {
	c := &m.contenders[i]
	if !c.inStep {
		return
	}
	s := &m.steps[c.step]
	c.inStep = false
	c.startNs = s.startNs
	c.slots = max(0, c.end-s.passed)
	m.apart = append(m.apart, int32(i))
}
