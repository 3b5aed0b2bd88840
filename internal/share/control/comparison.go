package control

import (
	"fmt"
	"math"
	"net/netip"
	"time"

	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

// Benefit is what the cell delivers with bounds, and without them in a short time in which all let
// go together.
type Benefit struct {
	With, Without CellMean
	// Least is the least part of its rate without bounds that a terminal has with them, of those
	// that wanted all with and without; 0 where there is none.
	Least float64
	// At is when they were compared.
	At time.Duration
}

// CellMean are what all terminals deliver together, in bit/s, and the mean of their round-trip
// times, weighted by rates.
type CellMean struct {
	Total float64
	RTT   time.Duration
}

const (
	// lessTotal is the part of the total without bounds below which they do not help; leastTotal
	// that where they shorten round-trip times to shorterRTT of what they are without.
	lessTotal, leastTotal = 0.97, 0.9
	shorterRTT            = 0.9
	// leastOwn is the part of its rate without bounds that a terminal keeps beside others who do
	// not take part. Rates differ from second to second: that it has less counts when so many
	// trials in a row have found it.
	leastOwn     = 0.95
	costlyTrials = 2
	// Rates are smoothed and come with reports, windows need time to grow: what is delivered counts
	// from so long on after a change.
	settled = 800 * time.Millisecond
	// withTime is the time constant of what is delivered with bounds.
	withTime = 5 * time.Second
	// longestTrial in seconds is the longest time without bounds that is compared.
	longestTrial = 3.0
)

// Helps says whether bounds are worth having.
func (e Benefit) Helps() bool {
	total := e.With.Total / e.Without.Total
	return !(total < lessTotal) || total >= leastTotal && float64(e.With.RTT) <= shorterRTT*float64(e.Without.RTT)
}

// verdict says whether bounds are to be let go, by one trial after the other. The zero value
// begins.
type verdict struct{ costly int }

// Doubts says whether the last trial has found that a terminal beside others has less than without
// bounds, so that another one is to show it too.
func (j *verdict) Doubts() bool { return j.costly > 0 }

// Take takes in what a trial has found, and says why bounds are to be let go, or nothing. beside
// says that others who do not take part have queues stand: where all take part slow terminals have
// less so that the others have more, beside others nobody is to.
func (j *verdict) Take(e Benefit, beside bool) (why string) {
	if beside && e.Least > 0 && e.Least < leastOwn {
		j.costly++
	} else {
		j.costly = 0
	}
	switch {
	case !e.Helps():
		return fmt.Sprintf("%.3g Mbit/s in all with bounds, %.3g without", e.With.Total/1e6, e.Without.Total/1e6)
	case j.costly >= costlyTrials:
		return fmt.Sprintf("beside others who do not take part a terminal has %.2g of what it has without bounds", e.Least)
	}
	return ""
}

// comparison compares. The zero value begins; it is not for several goroutines at once.
type comparison struct {
	with    CellMean
	known   time.Duration // how long With was seen
	sum     CellMean      // of the time without bounds, times seconds
	seconds float64
	last    time.Duration
	each    map[netip.AddrPort]*terminalMean // of those that want all
}

// terminalMean is what one terminal delivers: with bounds, for how long that was seen, and without them.
type terminalMean struct {
	with    float64
	known   time.Duration
	bits    float64
	seconds float64
}

// Step takes in what is delivered now, in a phase of Turns that came so long after the one before.
// It returns the effect when one has just been found.
func (t *comparison) Step(now time.Duration, phase probe.Active, since time.Duration, all []Terminal) (e Benefit, found bool) {
	f := figuresOf(all)
	step := min(now-t.last, time.Second)
	t.last = now
	switch {
	case phase.Kind == message.ReleaseProbe && now-phase.Begin >= settled:
		t.free(step, all)
		t.sum.Total += f.Total * step.Seconds()
		t.sum.RTT += time.Duration(float64(f.RTT) * step.Seconds())
		t.seconds += step.Seconds()
	case phase.Kind != message.ReleaseProbe && t.seconds > longestTrial:
		*t = comparison{last: now} // bounds were lifted for other reasons
	case phase.Kind != message.ReleaseProbe && t.seconds > 0:
		e = Benefit{t.with, CellMean{t.sum.Total / t.seconds, time.Duration(float64(t.sum.RTT) / t.seconds)}, t.least(), now}
		found = t.known >= withTime
		t.sum, t.seconds = CellMean{}, 0
	case phase.Kind == message.NoProbe && since >= settled:
		t.bound(step, all)
		gain := gainOf(step, t.known)
		t.known += step
		t.with.Total += gain * (f.Total - t.with.Total)
		t.with.RTT += time.Duration(gain * float64(f.RTT-t.with.RTT))
	}
	return e, found
}

// gainOf is what a step counts for in a mean that is that of all until it has been seen for
// withTime.
func gainOf(step, known time.Duration) float64 {
	return max(float64(step)/float64(withTime), float64(step)/float64(known+step))
}

// bound notes what each terminal delivers with bounds. Who does not want all, or is not there,
// begins anew.
func (t *comparison) bound(step time.Duration, all []Terminal) {
	if t.each == nil {
		t.each = map[netip.AddrPort]*terminalMean{}
	}
	there := map[netip.AddrPort]bool{}
	for i := range all {
		one := &all[i]
		if !math.IsInf(one.Demand, 1) {
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
	}
	for source := range t.each {
		if !there[source] {
			delete(t.each, source)
		}
	}
}

// free notes what each delivers without bounds.
func (t *comparison) free(step time.Duration, all []Terminal) {
	for i := range all {
		if l := t.each[all[i].Source]; l != nil && math.IsInf(all[i].Demand, 1) {
			l.bits += all[i].Rate * step.Seconds()
			l.seconds += step.Seconds()
		}
	}
}

// least ends the comparison of each.
func (t *comparison) least() (least float64) {
	for _, l := range t.each {
		if l.known >= withTime && l.bits > 0 && l.seconds >= t.seconds/2 {
			if part := l.with * l.seconds / l.bits; least == 0 || part < least {
				least = part
			}
		}
		l.bits, l.seconds = 0, 0
	}
	return least
}

func figuresOf(all []Terminal) (f CellMean) {
	weighted := 0.0
	for _, t := range all {
		f.Total += t.Rate
		weighted += t.Rate * float64(t.RTT)
	}
	if f.Total > 0 {
		f.RTT = time.Duration(weighted / f.Total)
	}
	return f
}
