package control

import (
	"math"
	"time"

	"airtide/internal/share/allocate"
)

// state is the cell as the terminals see it together.
type state struct {
	active  int           // terminals that send
	total   float64       // what they deliver, in bit/s
	airtime float64       // of what they could deliver
	delay   time.Duration // by which RTTs are above the smallest, weighted by the rates
	base    time.Duration // the smallest, weighted alike
	maxima  float64       // the sum of what each reaches alone
	single  bool          // no terminal that is known has aggregates
	late    time.Duration // how old the oldest of what is known may be
	// measuring is how long it takes until all have measured anew what they reach alone; 0 where
	// all are told.
	measuring time.Duration
}

// Those who are not told what they reach alone measure it anew when all get less than they should.
// A slower radio and a slower wire look alike until then: that takes measuringTakes until it shows,
// and as much more for each turn as it takes to agree on it and to have it.
const (
	measuringTakes   = 2 * time.Second
	measuringEach    = 700 * time.Millisecond
	longestMeasuring = 8 * time.Second
)

func stateOf(all []Terminal) state {
	s := state{single: len(all) > 0}
	delay, base := 0.0, 0.0
	for _, t := range all {
		s.single = s.single && t.Single
		s.late = max(s.late, t.Period)
		if t.Rate <= 0 || t.Demand == 0 {
			continue
		}
		s.active++
		s.total += t.Rate
		s.maxima += t.Max
		s.airtime += t.Rate / t.Max
		if t.Measured {
			s.measuring = min(max(s.measuring, measuringTakes)+measuringEach, longestMeasuring)
		}
		delay += t.Rate * float64(max(t.RTT-t.MinRTT, 0))
		base += t.Rate * float64(t.MinRTT)
	}
	if s.total > 0 {
		s.base = time.Duration(base / s.total)
		s.delay = time.Duration(delay / s.total)
	}
	return s
}

// efficiency is about how much of the airtime n contending terminals together make use of, beside
// one alone: in a prototype 0.92, 0.85, 0.73 and 0.61 for 2, 4, 8 and 16 stations of 802.11ac.
func efficiency(n int) float64 { return 1 / (1 + 0.045*float64(max(n-1, 0))) }

// efficiency is that of the terminals that send. Without aggregates many use the medium no worse
// than few: 4 and 10 of 802.11g carry 25.3 and 25.5 Mbit/s of TCP in the emulated cell.
func (s *state) efficiency() float64 {
	if s.single {
		return 1
	}
	return efficiency(s.active)
}

// singleNotice is twice the delay that contention makes without a queue where each packet needs an
// access of its own.
const singleNotice = 50 * time.Millisecond

// longer is a queue target, or what tells a queue from contention where that is more.
func (s *state) longer(queue time.Duration) time.Duration {
	if s.single {
		return max(queue, singleNotice)
	}
	return queue
}

const (
	// wireAirtime is the part of what the airtime gives below which, with queues, it is the wire
	// that limits.
	wireAirtime = 0.7
	// holds is for how long that must be so.
	holds = 500 * time.Millisecond
	// A capacity is believed for so long; each time that it is found again, for twice as long.
	firstBelief   = 30 * time.Second
	longestBelief = 5 * time.Minute
	// peaks is how far above the total the capacity may stay while queues stand. It follows peaks,
	// for what is delivered lacks a little of what the wire carries now and then; but while shares
	// change reports of before add up with those of after to what the wire never carried. From more
	// it falls, by a factor of e in peakTime seconds.
	peaks, peakTime = 1.06, 20.0
	// smoothing is the time constant of the total.
	smoothing = 500 * time.Millisecond
	// newMaxima is by how much the sum of the maxima has to differ for the wire to be looked at
	// anew, and drains how long the queues of a radio that has become slower say nothing of the
	// wire.
	newMaxima = 0.1
	drains    = 2 * time.Second
)

// wire finds out what the wire carries.
type wire struct {
	capacity float64 // 0: not known to limit
	until    time.Duration
	belief   time.Duration
	found    float64       // the capacity that was believed last
	base     time.Duration // the smallest RTT of then
	maxima   float64       // the sum of what all reach alone, then
	active   int

	seems bool          // it looks as if the wire limited,
	since time.Duration // since then
	last  time.Duration
	total float64 // smoothed

	// What all reached alone a step ago, how many there were, and when it was another for as many.
	before  float64
	were    int
	changed time.Duration

	noDelay, noDecay bool // rules that are switched off
}

// observe takes in what is delivered and returns the capacity, Unlimited when the wire is not known
// to limit. From noticeable on a delay is by queues. Where others than the known terminals have
// queues stand, they have the airtime that is not made use of.
func (w *wire) observe(now time.Duration, s state, noticeable time.Duration, others bool) float64 {
	gain := min(float64(now-w.last)/float64(smoothing), 1)
	w.total += gain * (s.total - w.total)
	since := min(now-w.last, LongestStep)
	w.last = now
	if s.active == w.were && otherMaxima(s.maxima, w.before) {
		w.changed, w.seems = now, false
	}
	w.before, w.were = s.maxima, s.active
	if others {
		w.forget()
	} else if s.active == 0 || s.delay < noticeable || s.airtime >= wireAirtime*s.efficiency() {
		w.seems = false
	} else if !w.seems {
		w.seems, w.since = true, now
	}
	if w.capacity > 0 && s.active == w.active && (LongerPath(w.base, s.base) || otherMaxima(s.maxima, w.maxima)) {
		// What was taken for a queue was a longer path, or what was taken for little use of the
		// airtime much of a slower radio.
		w.forget()
	}
	limits := w.seems && now-w.since >= max(holds, s.measuring) && (w.noDelay || w.changed == 0 || now-w.changed >= drains)
	switch {
	case limits && (w.capacity == 0 || w.total < 0.95*w.capacity):
		w.believe(now)
		w.base, w.maxima, w.active = s.base, s.maxima, s.active
	case w.capacity > 0 && now >= w.until:
		w.capacity, w.seems = 0, false
	case w.capacity > 0:
		if most := peaks * w.total; s.delay >= noticeable && w.capacity > most && !w.noDecay {
			w.capacity = max(w.capacity*math.Exp(-since.Seconds()/peakTime), most)
		}
		w.capacity = max(w.capacity, w.total)
	}
	if w.capacity == 0 {
		return allocate.Unlimited
	}
	return w.capacity
}

// otherMaxima says whether what all reach alone is in sum another than it was.
func otherMaxima(now, before float64) bool { return math.Abs(now/before-1) > newMaxima }

// LongerPath says whether a smallest RTT is so much above another that the path must have changed.
func LongerPath(before, now time.Duration) bool { return now > before+before/3+3*time.Millisecond }

// forget takes the wire for one that is not known to limit.
func (w *wire) forget() { w.capacity, w.found, w.seems = 0, 0, false }

func (w *wire) believe(now time.Duration) {
	w.belief = min(2*w.belief, longestBelief)
	if w.belief == 0 || w.total < 0.8*w.found || w.total > 1.25*w.found {
		w.belief = firstBelief
	}
	w.capacity, w.found, w.until = w.total, w.total, now+w.belief
}
