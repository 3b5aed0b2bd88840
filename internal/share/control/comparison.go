package control

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"time"

	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

// Benefit compares what terminals get with bounds, and without them in a release probe. A terminal
// counts if it was not idle for meanTime with bounds: a transfer that begins in a release probe is
// no effect of it.
type Benefit struct {
	With, Without CellMean
	// Least is the least ratio, over the greedy terminals, of the rate with bounds to the rate
	// without; 0 if no terminal was greedy in both.
	Least float64
	// At is the time of the comparison.
	At time.Duration
}

// CellMean is the total rate of the terminals that count, in bit/s, and the mean RTT of all
// terminals, weighted by rates.
type CellMean struct {
	Total float64
	RTT   time.Duration
}

const (
	// Bounds help if the total is at least minTotal of that without bounds, or at least
	// minTotalIfShorter if RTTs are at most shorterRTT of those without bounds.
	minTotal, minTotalIfShorter = 0.97, 0.9
	shorterRTT                  = 0.9
	// minRateRatio is the least part of its rate without bounds that a terminal must keep beside
	// foreign traffic. Rates vary, so costlyTrials results in a row must agree.
	minRateRatio = 0.95
	costlyTrials = 2
	// comparisonDelay is how long after a change rates count: they are smoothed, reports are
	// delayed, and windows need time to grow.
	comparisonDelay = 800 * time.Millisecond
	// meanTime is the time constant of the means with bounds.
	meanTime = 5 * time.Second
	// maxTrialSeconds is the longest time without bounds that counts.
	maxTrialSeconds = 3.0
)

// Helps reports whether bounds are worth their cost.
func (e Benefit) Helps() bool { return e.helpsBy(0) }

// agreeMargin is the part by which bounds must help more than they need to, for a terminal to
// refuse a release.
const agreeMargin = 0.02

// helpsBy reports whether bounds are worth their cost, by a margin: a part of total and RTT.
func (e Benefit) helpsBy(margin float64) bool {
	total := e.With.Total/e.Without.Total - margin
	shorter := float64(e.With.RTT) <= (shorterRTT-margin)*float64(e.Without.RTT)
	return !(total < minTotal) || total >= minTotalIfShorter && shorter
}

// verdict decides from one comparison after the other whether to release the windows. The zero
// value is ready.
type verdict struct{ costly int }

// Unconfirmed means that a terminal beside foreign queues had less than without bounds in the last
// comparison, so that another comparison must confirm it.
func (j *verdict) Unconfirmed() bool { return j.costly > 0 }

// Judge takes a comparison, and returns why windows are to be released, or "". foreign means that
// foreign queues stand: then no terminal may have less than without bounds. Without them slow
// terminals have less on purpose.
func (j *verdict) Judge(e Benefit, foreign bool) (reason string) {
	if foreign && e.Least > 0 && e.Least < minRateRatio {
		j.costly++
	} else {
		j.costly = 0
	}
	switch {
	case !e.Helps():
		return fmt.Sprintf("%.3g Mbit/s in all with bounds, %.3g without", e.With.Total/1e6, e.Without.Total/1e6)
	case j.costly >= costlyTrials:
		return fmt.Sprintf("beside foreign queues a terminal has %.2g of its rate without bounds", e.Least)
	}
	return ""
}

// comparison averages the cell with and without bounds. The zero value is ready; it is not for
// several goroutines at once.
type comparison struct {
	rtt     time.Duration // mean RTT with bounds
	known   time.Duration // time over which rtt was measured
	rttSum  time.Duration // RTT without bounds, summed over seconds
	seconds float64
	last    time.Duration
	each    map[netip.AddrPort]*terminalMean // terminals that are not idle with bounds, by address
}

// terminalMean is the rate of one terminal with bounds, and its bits without.
type terminalMean struct {
	with          float64
	known         time.Duration // time over which with was measured
	greedyWith    time.Duration // time in which the terminal was greedy with bounds
	bits          float64
	greedyWithout float64 // seconds in which it was greedy without bounds
}

// Step takes the rates of a step in a probe or without one. since is the time since the last probe.
// It returns the benefit when a comparison ends.
func (t *comparison) Step(
	now time.Duration, phase probe.Active, since time.Duration, all []Terminal,
) (e Benefit, found bool) {
	step := min(now-t.last, time.Second)
	t.last = now
	switch {
	case phase.Kind == message.ReleaseProbe && now-phase.Begin >= comparisonDelay:
		t.addUnbound(step, all)
		t.rttSum += time.Duration(float64(meanRTT(all)) * step.Seconds())
		t.seconds += step.Seconds()
	case phase.Kind != message.ReleaseProbe && t.seconds > maxTrialSeconds:
		*t = comparison{last: now} // bounds were lifted for other reasons
	case phase.Kind != message.ReleaseProbe && t.seconds > 0:
		e = t.conclude(now)
		found = e.With.Total > 0
	case phase.Kind == message.NoProbe && since >= comparisonDelay:
		t.addBound(step, all)
		t.rtt += time.Duration(gainOf(step, t.known) * float64(meanRTT(all)-t.rtt))
		t.known += step
	}
	return e, found
}

// gainOf returns the weight of a step in a mean. The mean is that of all steps until meanTime, and
// then decays with that time constant.
func gainOf(step, known time.Duration) float64 {
	return max(float64(step)/float64(meanTime), float64(step)/float64(known+step))
}

// addBound adds a step with bounds. Terminals that are idle or gone start anew.
func (t *comparison) addBound(step time.Duration, all []Terminal) {
	if t.each == nil {
		t.each = map[netip.AddrPort]*terminalMean{}
	}
	there := map[netip.AddrPort]bool{}
	for i := range all {
		one := &all[i]
		greedy := math.IsInf(one.Demand, 1)
		if !greedy && one.Rate <= idlePart*one.Max/float64(len(all)) {
			continue
		}
		there[one.Source] = true
		l := t.each[one.Source]
		if l == nil {
			l = &terminalMean{}
			t.each[one.Source] = l
		}
		l.with += gainOf(step, l.known) * (one.Rate - l.with)
		l.known += step
		if greedy {
			l.greedyWith += step
		} else {
			l.greedyWith = 0
		}
	}
	for source := range t.each {
		if !there[source] {
			delete(t.each, source)
		}
	}
}

// addUnbound adds a step without bounds.
func (t *comparison) addUnbound(step time.Duration, all []Terminal) {
	for i := range all {
		l := t.each[all[i].Source]
		if l == nil {
			continue
		}
		l.bits += all[i].Rate * step.Seconds()
		if math.IsInf(all[i].Demand, 1) {
			l.greedyWithout += step.Seconds()
		}
	}
}

// conclude returns the benefit and ends the comparison of each terminal. The totals are 0 if no
// terminal counts.
func (t *comparison) conclude(now time.Duration) (e Benefit) {
	e.At = now
	e.With.RTT = t.rtt
	e.Without.RTT = time.Duration(float64(t.rttSum) / t.seconds)
	for _, source := range slices.SortedFunc(maps.Keys(t.each), netip.AddrPort.Compare) { // sums depend on the order
		l := t.each[source]
		if l.known >= meanTime && l.bits > 0 {
			e.With.Total += l.with
			e.Without.Total += l.bits / t.seconds
			greedy := l.greedyWith >= meanTime && l.greedyWithout >= t.seconds/2
			if ratio := l.with * t.seconds / l.bits; greedy && (e.Least == 0 || ratio < e.Least) {
				e.Least = ratio
			}
		}
		l.bits = 0
		l.greedyWithout = 0
	}
	t.rttSum = 0
	t.seconds = 0
	return e
}

// meanRTT returns the mean RTT of all terminals, weighted by rates; 0 without traffic.
func meanRTT(all []Terminal) time.Duration {
	total := 0.0
	weighted := 0.0
	for _, t := range all {
		total += t.Rate
		weighted += t.Rate * float64(t.RTT)
	}
	if total == 0 {
		return 0
	}
	return time.Duration(weighted / total)
}
