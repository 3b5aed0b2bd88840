package control

import (
	"math"
	"time"

	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

// standaloneEstimator measures a terminal's standalone rate in rate probes. Before the first result
// the highest rate seen stands for it. The zero value is ready; it is not for several goroutines at
// once.
type standaloneEstimator struct {
	value         float64       // result of the last probe in bit/s; 0: unknown
	at            time.Duration // time of the measurement
	dueAt         time.Duration // latest time of the next measurement; 0: not planned
	lowerExpected bool          // a far lower result needs no confirmation
	factor        float64       // factor of windows in a probe, beyond RateProbeFactor
	highest       float64
	spans         []span // spans of the present probe
	queued        bool
	options       *Options // rules that are switched off
}

const (
	// highestHalfLife is the half-life of the highest rate seen, because radios move.
	highestHalfLife = time.Minute
	// A result is measured again after remeasureAfter, or after remeasureAfterEach per terminal if
	// that is longer.
	remeasureAfter, remeasureAfterEach = time.Minute, 15 * time.Second
	// recheckAfter is when a doubtful result is measured again.
	recheckAfter = 5 * time.Second
	// countedTime is how much of a probe counts, in steps that begin after the rates have settled,
	// within stepGap.
	countedTime = 150 * time.Millisecond
	stepGap     = 100 * time.Millisecond
	// confirmAfter is when the first result is measured again: no share was known yet.
	confirmAfter = 8 * time.Second
	// maxAirtime is the sum of rates over standalone rates above which a standalone rate must be
	// too low.
	maxAirtime = 1.15
	// lowerResult is the ratio to the last result below which a result must be confirmed: a peer
	// may have missed the probe.
	lowerResult = 0.7
	// largeCorrection is a correction that suggests that the standalone rate changed.
	largeCorrection = 2.0
	// RateProbeFactor is the first factor of windows in a rate probe, and RateProbePackets their
	// least sum.
	RateProbeFactor, RateProbePackets = 4.0, 256
	maxRateProbeFactor                = 64.0
	// rateProbeQueue is the delay that shows that the medium limits the rate in a probe, not the
	// window.
	rateProbeQueue = 3 * time.Millisecond
)

// span is a part of a rate probe.
type span struct{ seconds, bits float64 }

// best returns the highest rate over countedTime, because peers may have paused late.
func best(spans []span) (rate float64) {
	for i := range spans {
		var sum span
		for _, s := range spans[i:] {
			sum.seconds += s.seconds
			sum.bits += s.bits
			if sum.seconds >= countedTime.Seconds() {
				rate = max(rate, sum.bits/sum.seconds)
				break
			}
		}
	}
	return rate
}

// RateProbeLength returns the length of a rate probe for a terminal with a base RTT, if the
// greatest mean RTT in the cell is mean.
func RateProbeLength(base, mean time.Duration) time.Duration {
	least := rateProbeSettling(base, mean) + countedTime + stepGap
	return min((least + message.ProbeLengthStep - 1).Truncate(message.ProbeLengthStep), time.Second)
}

// rateProbeSettling returns the time until rates belong to the probe. The others' last packets wait
// in the queues, and the window has to grow.
func rateProbeSettling(base, mean time.Duration) time.Duration {
	return min(100*time.Millisecond+max(3*base, mean), 600*time.Millisecond)
}

// standaloneSample holds the measurements of a step.
type standaloneSample struct {
	Rate   float64       // rate of this step in bit/s
	Smooth float64       // the same, smoothed
	Greedy bool          // the terminal had more to carry
	Delay  time.Duration // mean RTT above the base RTT
	RTT    time.Duration // base RTT
	Mean   time.Duration // greatest mean RTT of all terminals outside probes
}

// Step takes the sample of a step. phase is the probe that has run since before the step. It
// returns true if a rate probe ended with a result.
func (m *standaloneEstimator) Step(now, step time.Duration, phase probe.Active, o standaloneSample) (found bool) {
	m.highest = max(m.highest*math.Exp2(-step.Seconds()/highestHalfLife.Seconds()), o.Smooth)
	alone := phase.Kind == message.RateProbe && phase.Own
	if alone && o.Greedy && now-step >= phase.Begin+rateProbeSettling(o.RTT, o.Mean) {
		m.spans = append(m.spans, span{step.Seconds(), o.Rate * step.Seconds()})
		m.queued = m.queued || o.Delay >= rateProbeQueue
	}
	if !alone && len(m.spans) > 0 {
		found = m.conclude(now)
	}
	return found
}

// conclude takes the result of a probe. It returns false if there is no valid result yet.
func (m *standaloneEstimator) conclude(now time.Duration) bool {
	rate := best(m.spans)
	queued := m.queued
	m.spans = m.spans[:0]
	m.queued = false
	switch {
	case rate == 0:
		return false
	case !queued && m.factor < maxRateProbeFactor:
		// The window was too small.
		m.store(now, max(m.value, rate))
		m.dueAt = now + recheckAfter
		m.factor = max(m.factor, 1) * 2
	case rate < lowerResult*m.value && !m.lowerExpected:
		m.lowerExpected = true
		m.dueAt = now + recheckAfter/2
		return false
	default:
		m.accept(now, rate)
	}
	return true
}

// accept stores a result, and plans to confirm it if it is the first or far lower than the last.
func (m *standaloneEstimator) accept(now time.Duration, rate float64) {
	first := m.value == 0
	lower := rate < lowerResult*m.value
	switch m.store(now, rate); {
	case first && !m.off(MeasureConfirm):
		m.dueAt = now + confirmAfter
	case lower:
		m.dueAt = now + recheckAfter/2
	}
}

func (m *standaloneEstimator) store(now time.Duration, rate float64) {
	if low, high := m.value*lowerResult, m.value/lowerResult; rate > low && rate < high {
		rate = (m.value + rate) / 2 // probes are short, so results differ
	}
	m.value = rate
	m.at = now
	m.dueAt = 0
	m.lowerExpected = false
}

func (m *standaloneEstimator) off(r Rule) bool { return m.options != nil && m.options.off(r) }

// Recheck plans a new measurement as soon as the last one is recheckAfter old, because something
// else than the standalone rates seems to limit.
func (m *standaloneEstimator) Recheck(now time.Duration) {
	if m.value > 0 && m.dueAt == 0 {
		m.dueAt = max(now, m.at+recheckAfter)
		m.lowerExpected = true
	}
}

// RecheckNow plans a new measurement at once, because the terminal carries far less than its share,
// and once carried it.
func (m *standaloneEstimator) RecheckNow(now time.Duration) {
	if m.value > 0 {
		m.dueAt = now
		m.lowerExpected = true
	}
}

// rateDrop detects that a terminal no longer gets its share, because a standalone rate became far
// lower. The zero value is ready.
type rateDrop struct {
	had    bool          // it had its share since the last drop
	behind time.Duration // time for which it has had far less
}

// A terminal has what it is to have from hasShare of it on, and far less below farLess for lessFor.
const (
	// A terminal has its share from reachedShare of it on. It has dropped after dropTime below
	// droppedShare.
	reachedShare, droppedShare = 0.8, 0.5
	dropTime                   = time.Second
)

// Step takes the terminal's rate over its share. queued means that it is greedy while queues stand.
// It returns true if a drop is detected.
func (f *rateDrop) Step(step time.Duration, part float64, queued bool) bool {
	f.had = f.had || part >= reachedShare
	if !queued || part >= droppedShare {
		f.behind = 0
		return false
	}
	f.behind += step
	if !f.had || f.behind < dropTime {
		return false
	}
	*f = rateDrop{}
	return true
}

// Known reports whether a rate probe gave a result.
func (m *standaloneEstimator) Known() bool { return m.value > 0 }

// Due reports whether a rate probe is due in a cell of so many terminals. A large correction, or
// more airtime in use than exists, suggests that the standalone rate changed.
func (m *standaloneEstimator) Due(now time.Duration, terminals int, d Decision) bool {
	changed := d.Airtime > maxAirtime || d.Correction >= largeCorrection || d.Correction <= 1/largeCorrection
	switch {
	case m.value == 0:
		return true
	case m.dueAt > 0:
		return now >= m.dueAt
	case changed && now-m.at >= recheckAfter:
		return true
	}
	return now-m.at >= max(remeasureAfter, remeasureAfterEach*time.Duration(terminals))
}

// Value returns the standalone rate in bit/s; 0 if nothing was seen.
func (m *standaloneEstimator) Value() float64 {
	if m.value > 0 {
		return m.value
	}
	return m.highest
}

// Window returns the factor of windows in a rate probe.
func (m *standaloneEstimator) Window() float64 { return RateProbeFactor * max(m.factor, 1) }
