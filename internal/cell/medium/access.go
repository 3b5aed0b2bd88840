package medium

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Category is the class of access to the medium of a contender.
type Category uint8

// The categories.
const (
	ByStandard Category = iota // DCF for 802.11b, g and a, best effort from 802.11n on
	DCF                        // the distributed coordination function, without QoS (10.3)
	BestEffort                 // EDCA's access categories (10.23.2)
	Background
	Video
	Voice
)

// Access holds the channel access parameters of a contender. A zero field has the default of the
// category: IEEE 802.11-2020 table 9-155, with the TXOP limits of the 2012 edition, which access
// points still announce.
type Access struct {
	Category Category
	// CWMin and CWMax are the bounds of the contention window in slots.
	CWMin, CWMax int
	// AIFSN is the number of slots after SIFS (DIFS: 2).
	AIFSN int
	// TXOPNs is the longest time that a contender holds the medium. Zero: the category's default.
	// Negative: one exchange per access.
	TXOPNs int64
	// RetryLimit is the number of times a frame is sent at most. Default 7, dot11ShortRetryLimit.
	RetryLimit int
}

func (a *Access) check() error {
	if a.Category > Voice {
		return fmt.Errorf("there is no access category %d", a.Category)
	}
	for _, cw := range []int{a.CWMin, a.CWMax} {
		if cw < 0 || cw > 32767 || cw&(cw+1) != 0 {
			return fmt.Errorf("a contention window of %d: use a power of two less one, up to 32767", cw)
		}
	}
	if a.CWMin > 0 && a.CWMax > 0 && a.CWMin > a.CWMax {
		return fmt.Errorf("a contention window from %d to %d: put the lower bound first", a.CWMin, a.CWMax)
	}
	if a.AIFSN < 0 || a.AIFSN > 15 {
		return fmt.Errorf("an AIFSN of %d: use 1 to 15", a.AIFSN)
	}
	if a.RetryLimit < 0 || a.RetryLimit > 255 {
		return fmt.Errorf("a retry limit of %d: use 1 to 255", a.RetryLimit)
	}
	return nil
}

// withDefaults fills in the zero fields for a contender of the given standard.
func (a Access) withDefaults(s Standard) Access {
	if a.Category == ByStandard {
		a.Category = DCF
		if s.aggregates() {
			a.Category = BestEffort
		}
	}
	lowest := 15
	highest := 1023
	video := int64(3008000)
	voice := int64(1504000)
	if s == Std11b {
		lowest = 31
		video = 6016000
		voice = 3264000
	}
	d := Access{CWMin: lowest, CWMax: highest, AIFSN: 2, RetryLimit: 7}
	switch a.Category {
	case BestEffort:
		d.AIFSN = 3
	case Background:
		d.AIFSN = 7
	case Video:
		d.CWMin = (lowest+1)/2 - 1
		d.CWMax = lowest
		d.TXOPNs = video
	case Voice:
		d.CWMin = (lowest+1)/4 - 1
		d.CWMax = (lowest+1)/2 - 1
		d.TXOPNs = voice
	}
	if a.CWMin == 0 {
		a.CWMin = d.CWMin
	}
	if a.CWMax == 0 {
		a.CWMax = max(d.CWMax, a.CWMin)
	}
	a.CWMin = min(a.CWMin, a.CWMax)
	if a.AIFSN == 0 {
		a.AIFSN = d.AIFSN
	}
	if a.TXOPNs == 0 {
		a.TXOPNs = d.TXOPNs
	}
	a.TXOPNs = max(a.TXOPNs, 0)
	if a.RetryLimit == 0 {
		a.RetryLimit = d.RetryLimit
	}
	return a
}

// never is the time of an event that will not happen.
const never = math.MaxInt64

// contender is one coordination function. It counts down slots of idle medium and transmits at
// zero.
type contender struct {
	edca         bool
	slotNs       int64
	aifsNs       int64 // SIFS and the slots after it: DIFS or AIFS
	txopNs       int64
	cwMin, cwMax int
	retryLimit   int

	cw       int
	failures int   // since the last success or reset: the station retry counter (QSRC)
	slots    int64 // back-off left, slots
	// startNs is when the medium has been idle long enough (DIFS, AIFS, EIFS) for slots to count.
	startNs int64
	// accessNs is the time of its transmission if the medium stays idle, or never if it has nothing
	// to send.
	accessNs int64
	onAir    bool

	// inStep means that the contender counts as part of a step. Then end is the slot at which the
	// back-off ends. slots and startNs are not updated, and accessNs only shows whether the
	// contender has something to send.
	inStep bool
	step   int32
	after  int32
	end    int64
}

// countedInStep is the accessNs of a contender with something to send that counts together with
// others. Its step knows the time. The value is above every time, so that the search for the next
// contender passes over it, and below never, so that it still counts as waiting.
const countedInStep = never - 2

func newContender(a Access, c *Config) contender {
	n := contender{
		edca: a.Category != DCF, slotNs: c.SlotNs, aifsNs: c.sifsNs() + int64(a.AIFSN)*c.SlotNs, txopNs: a.TXOPNs,
		cwMin: a.CWMin, cwMax: a.CWMax, retryLimit: a.RetryLimit, cw: a.CWMin, accessNs: never,
	}
	n.startNs = n.aifsNs
	return n
}

// draw begins a back-off.
func (c *contender) draw(r *rand.Rand) { c.slots = r.Int64N(int64(c.cw) + 1) }

// draw begins a contender's back-off. With adaptive windows, no other category's window counts.
func (m *Medium) draw(c *contender) {
	if m.contention != nil {
		c.cw = min(int(m.contention.window), c.cwMax)
	}
	c.draw(m.rand)
}

// countedFrom is the time from which a contender counts idle slots.
func (m *Medium) countedFrom(c *contender) int64 {
	if c.inStep {
		return m.steps[c.step].startNs
	}
	return c.startNs
}

// succeeded resets the contention window.
func (c *contender) succeeded() {
	c.cw = c.cwMin
	c.failures = 0
}

// failed doubles the contention window, up to the limit of failures (10.3.3, 10.23.2.2).
func (c *contender) failed() {
	if c.failures >= c.retryLimit {
		c.succeeded()
		return
	}
	c.failures++
	c.cw = min(c.cwMax, 2*c.cw+1)
}

// freeze stops the back-off when the frame of another contender is heard.
func (c *contender) freeze(heardNs int64) {
	var idle idleSlots
	idle.freeze(heardNs, c)
}

// idleSlots counts the slots before a frame was heard. Most contenders began to count at the same
// time, so it keeps the last answer.
type idleSlots struct {
	startNs int64
	edca    bool
	count   int64
}

func (s *idleSlots) freeze(heardNs int64, c *contender) {
	if c.startNs != s.startNs || c.edca != s.edca {
		s.count = slotsBefore(heardNs, c.startNs, c.slotNs, c.edca)
		s.startNs = c.startNs
		s.edca = c.edca
	}
	c.slots = max(0, c.slots-s.count)
}

// slotsBefore returns the number of slots from startNs to a heard frame. EDCA counts at slot
// boundaries, the first at the end of AIFS. DCF counts at the end of idle slots (10.23.2.4,
// 10.3.4.3).
func slotsBefore(heardNs, startNs, slotNs int64, edca bool) int64 {
	idleNs := heardNs - startNs
	if idleNs < 0 {
		return 0
	}
	if edca {
		return idleNs/slotNs + 1
	}
	return idleNs / slotNs
}

// idleFrom restarts the count of slots at startNs.
func (c *contender) idleFrom(startNs int64, wants bool) {
	c.startNs = startNs
	c.accessNs = never
	if wants {
		c.accessNs = startNs + c.slots*c.slotNs
	}
}

// wake starts a contender whose queue gets its first packet while the medium is idle. If the
// back-off has ended, DCF transmits at once and EDCA at the next slot boundary.
func (c *contender) wake(nowNs int64) {
	c.accessNs = c.startNs + c.slots*c.slotNs
	if c.accessNs >= nowNs {
		return
	}
	c.accessNs = nowNs
	if c.edca {
		slots := (nowNs - c.startNs + c.slotNs - 1) / c.slotNs
		c.accessNs = c.startNs + slots*c.slotNs
	}
}
