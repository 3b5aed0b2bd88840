package control

import (
	"math"
	"slices"
	"time"

	"airtide/internal/share/allocate"
)

// cellState is the state of the whole cell, by the reports of all terminals.
type cellState struct {
	active        int           // terminals that carry something
	total         float64       // sum of their rates, in bit/s
	airtime       float64       // sum of their rates over their standalone rates
	delay         time.Duration // mean RTT above the base RTT, weighted by rates
	ownDelay      time.Duration // the same of this terminal; 0 if it carries nothing
	base          time.Duration // mean base RTT, weighted by rates
	standaloneSum float64       // sum of their standalone rates, in bit/s
	single        bool          // no radio aggregates
	busy          float64       // busy part of the time; 0: it is not known
}

// longestDelay is the greatest delay of a peer that counts, in medians of all delays. A longer one
// is that of a member that lies. A terminal with a queue of its own may have several medians, and
// must count: with a limit of 3 the median index of 36 random cells was 0.94 instead of 0.97.
const longestDelay = 10

// cellStateOf returns the state of the cell as terminal own sees it. A peer's base RTT and delay
// count up to longestDelay medians, so that one report of a minute is no queue.
func cellStateOf(own int, all []Terminal) cellState {
	s := cellState{single: len(all) > 0}
	median := medianTimes(all)
	delay := 0.0
	base := 0.0
	for i, t := range all {
		s.single = s.single && t.Single
		if !t.carries() {
			continue
		}
		s.active++
		s.total += t.Rate
		s.standaloneSum += t.Max
		s.airtime += t.Rate / t.Max
		one := times{t.MinRTT, t.delay()}
		if i == own {
			s.ownDelay = one.delay
		} else {
			one = times{min(one.base, longestDelay*median.base), min(one.delay, longestDelay*median.delay)}
		}
		delay += t.Rate * float64(one.delay)
		base += t.Rate * float64(one.base)
	}
	if s.total > 0 {
		s.base = time.Duration(base / s.total)
		s.delay = time.Duration(delay / s.total)
	}
	return s
}

// times are the base RTT of a terminal and the delay above it.
type times struct{ base, delay time.Duration }

// medianTimes returns the medians of the terminals that carry something, or the lower of two.
func medianTimes(all []Terminal) times {
	var bases, delays []time.Duration
	for i := range all {
		if all[i].carries() {
			bases = append(bases, all[i].MinRTT)
			delays = append(delays, all[i].delay())
		}
	}
	if len(bases) == 0 {
		return times{}
	}
	slices.Sort(bases)
	slices.Sort(delays)
	middle := (len(bases) - 1) / 2
	return times{bases[middle], delays[middle]}
}

// efficiency returns the usable airtime of n contending terminals, compared with one alone. A
// prototype measured 0.92, 0.85, 0.73 and 0.61 for 2, 4, 8 and 16 stations of 802.11ac.
func efficiency(n int) float64 { return 1 / (1 + 0.045*float64(max(n-1, 0))) }

// efficiency returns the usable airtime. Without aggregation it does not fall with the number of
// terminals: 4 and 10 of 802.11g carry 25.3 and 25.5 Mbit/s of TCP in the emulated cell.
func (s *cellState) efficiency() float64 {
	if s.single {
		return 1
	}
	return efficiency(s.active)
}

// contentionDelay is twice the delay that contention causes without a queue, if each packet needs
// its own access.
const contentionDelay = 50 * time.Millisecond

// contentionFloor returns the queue target, or contentionDelay if that is longer and no radio
// aggregates.
func (s *cellState) contentionFloor(queue time.Duration) time.Duration {
	if s.single {
		return max(queue, contentionDelay)
	}
	return queue
}

const (
	// spareAirtime is the part of the usable airtime below which queues mean that the wire limits.
	// Where the medium limits, terminals use 0.85 to 1 of it by their standalone rates.
	spareAirtime = 0.7
	// wireConfirm is how long this must last: longer than the smoothing of rates and a report, so
	// that rates and delays are of the same time.
	wireConfirm = 500 * time.Millisecond
	// wireValidMin is how long a capacity is valid. The time doubles up to wireValidMax each time
	// that the same capacity is found. A trial without the limit fills the queue for wireConfirm,
	// so trials of a wire that stays cost 2 % of the time at first and then 0.2 %.
	wireValidMin = 30 * time.Second
	wireValidMax = 5 * time.Minute
	// usedCapacity is the part of the capacity from which on it is in use. If that leaves no queue
	// for wireRefute longer than one, the wire does not limit. Corrections fill a queue within that
	// time.
	usedCapacity = 0.8
	wireRefute   = 3 * time.Second
	// totalSmoothing is the time constant of the total. Reports arrive one after the other, so
	// their sum jumps within a period.
	totalSmoothing = 500 * time.Millisecond
	// standaloneChange is the relative change of the sum of standalone rates after which the wire
	// is tested again.
	standaloneChange = 0.1
)

// wire estimates the capacity of the wire behind the access point.
type wire struct {
	capacity      float64 // bit/s; 0: not known to limit
	validUntil    time.Duration
	validFor      time.Duration // validity of the last accepted capacity
	lastAccepted  float64       // capacity in bit/s
	base          time.Duration // base RTT when the capacity was accepted
	standaloneSum float64       // sum of standalone rates then
	active        int

	suspected bool          // the wire seems to limit
	since     time.Duration // start of the suspicion
	unqueued  time.Duration // time for which the capacity in use left no queue, less that with one
	last      time.Duration
	total     float64 // smoothed
}

// queued reports whether queues stand: that of this terminal too, because peers may report any.
func (s *cellState) queued(threshold time.Duration) bool {
	return s.active > 0 && s.delay >= threshold && s.ownDelay >= threshold
}

// free reports whether airtime is free: the rates need little of it, and the channel is not busy.
func (s *cellState) free() bool {
	return s.airtime < spareAirtime*s.efficiency() && s.busy < busyChannel
}

// update takes the state of a step and returns the capacity in bit/s, or Unlimited if the wire is
// not known to limit. A delay from queueThreshold on means queues. If foreign queues stand, foreign
// traffic uses the rest of the airtime, and no wire is suspected.
func (w *wire) update(now time.Duration, s cellState, queueThreshold time.Duration, foreign bool) float64 {
	step := min(now-w.last, LongestStep)
	gain := min(float64(step)/float64(totalSmoothing), 1)
	w.total += gain * (s.total - w.total)
	w.last = now
	if foreign {
		w.forget()
	} else if !s.queued(queueThreshold) || !s.free() {
		w.suspected = false
	} else if !w.suspected {
		w.suspected = true
		w.since = now
	}
	if w.leavesNoQueue(step, s, queueThreshold/2) {
		w.forget()
	}
	changed := LongerPath(w.base, s.base) || math.Abs(s.standaloneSum/w.standaloneSum-1) > standaloneChange
	if w.capacity > 0 && s.active == w.active && changed {
		// The delay was that of a longer path, or the airtime was that of a slower radio.
		w.forget()
	}
	limits := w.suspected && now-w.since >= wireConfirm
	switch {
	case limits && (w.capacity == 0 || w.total < 0.95*w.capacity):
		w.accept(now)
		w.base = s.base
		w.standaloneSum = s.standaloneSum
		w.active = s.active
	case w.capacity > 0 && now >= w.validUntil:
		w.capacity = 0
		w.suspected = false
	case w.capacity > 0:
		w.capacity = max(w.capacity, w.total)
	}
	if w.capacity == 0 {
		return allocate.Unlimited
	}
	return w.capacity
}

// leavesNoQueue reports whether the capacity has been in use without a queue for wireRefute longer
// than with one. It takes a step of a length.
func (w *wire) leavesNoQueue(step time.Duration, s cellState, queueThreshold time.Duration) bool {
	switch {
	case w.capacity == 0 || w.total < usedCapacity*w.capacity:
		w.unqueued = 0
	case max(s.delay, s.ownDelay) >= queueThreshold:
		w.unqueued = max(w.unqueued-step, 0)
	default:
		w.unqueued += step
	}
	return w.unqueued >= wireRefute
}

// LongerPath reports whether a smallest RTT is so far above another that the path must have
// changed.
func LongerPath(before, now time.Duration) bool {
	return now > before+before/3+3*time.Millisecond
}

// forget makes the wire count as unlimited.
func (w *wire) forget() {
	w.capacity = 0
	w.lastAccepted = 0
	w.suspected = false
}

// accept takes the present total as the capacity.
func (w *wire) accept(now time.Duration) {
	w.validFor = min(2*w.validFor, wireValidMax)
	if w.validFor == 0 || w.total < 0.8*w.lastAccepted || w.total > 1.25*w.lastAccepted {
		w.validFor = wireValidMin
	}
	w.capacity = w.total
	w.lastAccepted = w.total
	w.validUntil = now + w.validFor
}
