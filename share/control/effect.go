package control

import (
	"time"

	"airtide/share/message"
)

// Effect is what the cell delivers with bounds, and without them in a short time in which all let go together.
type Effect struct {
	With, Without Figures
	// At is when they were compared.
	At time.Duration
}

// Figures are what all terminals deliver together, in bit/s, and the mean of their round-trip times, weighted by rates.
type Figures struct {
	Total float64
	RTT   time.Duration
}

const (
	// lessTotal is the part of the total without bounds below which they do not help; leastTotal that where they shorten round-trip times to
	// shorterRTT of what they are without.
	lessTotal, leastTotal = 0.97, 0.9
	shorterRTT            = 0.9
	// Rates are smoothed and come with reports, windows need time to grow: what is delivered counts from so long on after a change.
	settled = 800 * time.Millisecond
	// withTime is the time constant of what is delivered with bounds.
	withTime = 5 * time.Second
	// longestTrial in seconds is the longest time without bounds that is compared.
	longestTrial = 3.0
)

// Helps says whether bounds are worth having.
func (e Effect) Helps() bool {
	total := e.With.Total / e.Without.Total
	return !(total < lessTotal) || total >= leastTotal && float64(e.With.RTT) <= shorterRTT*float64(e.Without.RTT)
}

// Trial compares. The zero value begins; it is not for several goroutines at once.
type Trial struct {
	with    Figures
	known   time.Duration // how long With was seen
	sum     Figures       // of the time without bounds, times seconds
	seconds float64
	last    time.Duration
}

// Step takes in what is delivered now, in a phase of Turns that came so long after the one before. It returns the effect when one has just been
// found.
func (t *Trial) Step(now time.Duration, phase Phase, since time.Duration, all []Terminal) (e Effect, found bool) {
	f := figuresOf(all)
	step := min(now-t.last, time.Second)
	t.last = now
	switch {
	case phase.Kind == message.Free && now-phase.Begin >= settled:
		t.sum.Total += f.Total * step.Seconds()
		t.sum.RTT += time.Duration(float64(f.RTT) * step.Seconds())
		t.seconds += step.Seconds()
	case phase.Kind != message.Free && t.seconds > longestTrial:
		*t = Trial{last: now} // bounds were lifted for other reasons
	case phase.Kind != message.Free && t.seconds > 0:
		e = Effect{t.with, Figures{t.sum.Total / t.seconds, time.Duration(float64(t.sum.RTT) / t.seconds)}, now}
		found = t.known >= withTime
		t.sum, t.seconds = Figures{}, 0
	case phase.Kind == message.NoTurn && since >= settled:
		gain := max(float64(step)/float64(withTime), float64(step)/float64(t.known+step))
		t.known += step
		t.with.Total += gain * (f.Total - t.with.Total)
		t.with.RTT += time.Duration(gain * float64(f.RTT-t.with.RTT))
	}
	return e, found
}

func figuresOf(all []Terminal) (f Figures) {
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
