package control

import (
	"math"
	"time"

	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

// standaloneEstimator finds what a terminal reaches alone: in turns in which it is alone. Until it
// has been alone the highest rate that was seen stands for it. The zero value begins; it is not for
// several goroutines at once.
type standaloneEstimator struct {
	value   float64       // measured, in bit/s; 0 is not known
	at      time.Duration // when
	again   time.Duration // when it is to be measured again at the latest, if not 0
	doubted bool          // a far lower measurement is believed: there was one before, or another reason
	factor  float64       // of windows in a turn, beyond the usual one
	highest float64
	turn    []span // what was delivered in it
	queued  bool
	options *Options // rules that are switched off
}

const (
	// seenHalves: the highest rate that was seen loses half of its weight in so long, since radios
	// move.
	seenHalves = time.Minute
	// Measured anew after so long, and after so long for each terminal of the cell.
	measuredFor, measuredForEach = time.Minute, 15 * time.Second
	// soonAgain is when a measurement that may be wrong is repeated.
	soonAgain = 5 * time.Second
	// counted is what counts of a turn, of the steps that begin once rates have settled: within
	// stepGap after that.
	counted = 150 * time.Millisecond
	stepGap = 100 * time.Millisecond
	// confirmAfter is when the first measurement is made again: it came while nobody's share was
	// known.
	confirmAfter = 8 * time.Second
	// tooMuchAirtime is the sum of rates as parts of maxima that shows that a maximum is too low.
	tooMuchAirtime = 1.15
	// farLower is what a measurement is below, as a part of the one before, to be doubted once:
	// somebody may not have heard of the turn.
	farLower = 0.7
	// farCorrected is a correction of windows at which the maximum is likely to have changed.
	farCorrected = 2.0
	// SoloWindow is what a window is multiplied by in a turn at first, and SoloPackets what all
	// together have at least.
	SoloWindow, SoloPackets = 4.0, 256
	mostFactor              = 64.0
	// soloQueue is the delay that shows that the medium and not the window limits in a turn.
	soloQueue = 3 * time.Millisecond
)

// span is a part of a turn.
type span struct{ seconds, bits float64 }

// best is the highest rate over as long as counts of a turn: others may have begun it late.
func best(turn []span) (rate float64) {
	for i := range turn {
		var sum span
		for _, s := range turn[i:] {
			sum.seconds, sum.bits = sum.seconds+s.seconds, sum.bits+s.bits
			if sum.seconds >= counted.Seconds() {
				rate = max(rate, sum.bits/sum.seconds)
				break
			}
		}
	}
	return rate
}

// SoloLength is how long a turn has to be for a terminal with a smallest round-trip time in a cell
// with a mean one, and soloSettles what it takes until rates are those of the turn: the others'
// last packets, which have the mean's queues before them, and a window that grows.
func SoloLength(base, mean time.Duration) time.Duration {
	least := soloSettles(base, mean) + counted + stepGap
	return min((least + message.ProbeLengthStep - 1).Truncate(message.ProbeLengthStep), time.Second)
}

// soloSettles is told with SoloLength.
func soloSettles(base, mean time.Duration) time.Duration {
	return min(100*time.Millisecond+max(3*base, mean), 600*time.Millisecond)
}

// standaloneSample is what a terminal saw of itself and of the others in a step.
type standaloneSample struct {
	Rate   float64       // in bit/s, of the step alone
	Smooth float64       // the same, smoothed
	Greedy bool          // it had more to carry
	Delay  time.Duration // by which round-trip times are above the smallest
	RTT    time.Duration // the smallest
	Mean   time.Duration // the longest mean one of all terminals, outside turns
}

// Step takes in what was seen in a step of a length, in a phase that holds since before the step.
// It says whether it has found the maximum by a turn.
func (m *standaloneEstimator) Step(now, step time.Duration, phase probe.Active, o standaloneSample) (found bool) {
	m.highest = max(m.highest*math.Exp2(-step.Seconds()/seenHalves.Seconds()), o.Smooth)
	alone := phase.Kind == message.RateProbe && phase.Own
	if alone && o.Greedy && now-step >= phase.Begin+soloSettles(o.RTT, o.Mean) {
		m.turn = append(m.turn, span{step.Seconds(), o.Rate * step.Seconds()})
		m.queued = m.queued || o.Delay >= soloQueue
	}
	if !alone && len(m.turn) > 0 {
		found = m.conclude(now)
	}
	return found
}

// conclude takes what a turn has shown; false when that is nothing to go by yet.
func (m *standaloneEstimator) conclude(now time.Duration) bool {
	rate, queued := best(m.turn), m.queued
	m.turn, m.queued = m.turn[:0], false
	switch {
	case rate == 0:
		return false
	case !queued && m.factor < mostFactor:
		// The window was too small for it.
		m.is(now, max(m.value, rate))
		m.again, m.factor = now+soonAgain, max(m.factor, 1)*2
	case rate < farLower*m.value && !m.doubted:
		m.doubted, m.again = true, now+soonAgain/2
		return false
	default:
		m.finds(now, rate)
	}
	return true
}

// finds takes what was found for what the terminal reaches alone, and has it measured again soon
// where it may have been disturbed: the first one came while nobody's share was known, and of one
// that is far lower somebody may not have heard.
func (m *standaloneEstimator) finds(now time.Duration, rate float64) {
	first, lower := m.value == 0, rate < farLower*m.value
	switch m.is(now, rate); {
	case first && !m.off(MeasureConfirm):
		m.again = now + confirmAfter
	case lower:
		m.again = now + soonAgain/2
	}
}

func (m *standaloneEstimator) is(now time.Duration, rate float64) {
	if low, high := m.value*farLower, m.value/farLower; rate > low && rate < high { // turns are short, and differ
		rate = (m.value + rate) / 2
	}
	m.value, m.at, m.again, m.doubted = rate, now, 0, false
}

func (m *standaloneEstimator) off(r Rule) bool { return m.options != nil && m.options.off(r) }

// Recheck has it measured again, at once or when it may be doubted again: it looks as if something
// else than what the terminals reach alone limited them.
func (m *standaloneEstimator) Recheck(now time.Duration) {
	if m.value > 0 && m.again == 0 {
		m.again, m.doubted = max(now, m.at+soonAgain), true
	}
}

// RecheckNow has it measured again at once, whatever came of doubts before: much less is carried than
// this terminal was to have, and has had.
func (m *standaloneEstimator) RecheckNow(now time.Duration) {
	if m.value > 0 {
		m.again, m.doubted = now, true
	}
}

// rateDrop notices that a terminal no longer gets what it is to have, for what it reaches alone, or
// another one, has become far less. The zero value begins.
type rateDrop struct {
	had    bool          // what it was to have, since the last fall
	behind time.Duration // for how long it has had far less
}

// A terminal has what it is to have from hasShare of it on, and far less below farLess for lessFor.
const (
	hasShare, farLess = 0.8, 0.5
	lessFor           = time.Second
)

// Step takes in what is carried, as a part of the share, by a terminal that wants all while queues
// stand, or does not. It says when there is a fall.
func (f *rateDrop) Step(step time.Duration, part float64, queued bool) bool {
	f.had = f.had || part >= hasShare
	if !queued || part >= farLess {
		f.behind = 0
		return false
	}
	f.behind += step
	if !f.had || f.behind < lessFor {
		return false
	}
	*f = rateDrop{}
	return true
}

// Known says whether it has been measured.
func (m *standaloneEstimator) Known() bool { return m.value > 0 }

// Wants says whether it wants a turn, in a cell of so many terminals, by what was decided last:
// windows that are corrected by much, or more airtime in use than there is, may come of a maximum
// that has changed.
func (m *standaloneEstimator) Wants(now time.Duration, terminals int, d Decision) bool {
	changed := d.Airtime > tooMuchAirtime || d.Correction >= farCorrected || d.Correction <= 1/farCorrected
	switch {
	case m.value == 0:
		return true
	case m.again > 0:
		return now >= m.again
	case changed && now-m.at >= soonAgain:
		return true
	}
	return now-m.at >= max(measuredFor, measuredForEach*time.Duration(terminals))
}

// Value is what the terminal reaches alone, as far as it is known; 0 before anything was seen.
func (m *standaloneEstimator) Value() float64 {
	if m.value > 0 {
		return m.value
	}
	return m.highest
}

// Window is what windows are to be multiplied by in a turn.
func (m *standaloneEstimator) Window() float64 { return SoloWindow * max(m.factor, 1) }
