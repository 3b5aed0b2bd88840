package oracle

import (
	"cmp"
	"math"
	"time"

	"airtide/test/oracle/control"
)

// flow is one of the terminal's, with what its two directions do.
type flow struct {
	ends     ends
	mss      int // bytes
	up, down side
	bound    uint32 // of its receive window, in bytes; 0 is none
	present  bool   // still there in the last step
}

// side is one direction of a flow.
type side struct {
	rate        float64       // bit/s, smoothed
	activeUntil time.Duration // counts until then as one that carries something
	greedyUntil time.Duration // wants more than its window lets through
	base        time.Duration // smallest round-trip time; 0 while it is not known
	rtt, least  time.Duration // mean and smallest of the last step; 0 without any
	recent      time.Duration // the last of the means
	slowRTT     time.Duration // their mean, smoothed, and
	window      float64       // the window in bytes beside others who do not take part; 0 without
	before      float64       // the window in bytes that it had last outside a turn
	still       time.Duration // the smallest while all hold back; 0 without any
	stillSum    time.Duration // of the mean ones of so many steps in which all hold back
	stillSteps  int
	foreign     time.Duration // what is left of it when all who take part hold back: the queues of others; 0 without
	doubted     bool          // there was nothing left the last time: their queues come and go
}

const (
	// activeFor is how long a direction counts after it has carried something.
	activeFor = time.Second
	// defaultMSS in bytes is that of a flow that has told none.
	defaultMSS = 1448
	// usedAt is the part of round trips that used the whole receive window from which on the window
	// is what limits. Some do not, since senders gather segments.
	usedAt = 0.25
	// answers to what is sent are less than that in their first step, in bit/s. A download is more,
	// and wants half of its terminal's share.
	answers = 1e5
)

// sent takes in what the flow sent in a step.
func (f *flow) sent(now time.Duration, gain float64, o *ownFlow) {
	f.up.carried(now, gain, o.Up)
	if o.Greedy {
		f.up.greedyUntil = now + greedyFor
	}
	f.up.took(o.RTT, o.LeastRTT, o.MinRTT)
}

// received takes in what the flow received, and what was measured of it where that is possible.
func (f *flow) received(now time.Duration, gain float64, o *ownFlow, s windowSeen) {
	began := f.down.activeUntil == 0
	f.down.carried(now, gain, o.Down)
	if s.InUse >= usedAt || began && o.Down > answers || f.bound == 0 && o.Down > leastDemand {
		// Of one that has just begun, or is not bounded, it is not known whether there is more.
		f.down.greedyUntil = now + greedyFor
	}
	f.down.took(cmp.Or(s.RTT, o.ReceiverRTT), s.MinRTT, o.MinRTT)
}

func (s *side) carried(now time.Duration, gain, rate float64) {
	s.rate += gain * (rate - s.rate)
	if rate > 0 {
		s.activeUntil = now + activeFor
	}
}

// took takes in the round-trip times of a step. What the kernel knew counts in the beginning only:
// it remembers the smallest of five minutes, which another path may have made impossible.
func (s *side) took(mean, least, known time.Duration) {
	s.rtt, s.least = mean, least
	if mean > 0 {
		s.recent = mean
	}
	if s.base == 0 {
		s.base = known
	}
	if least > 0 && (s.base == 0 || least < s.base) {
		s.base = least
	}
}

// renew takes the smallest round-trip time for what it was while all held back, and says whether
// the path has become longer.
func (s *side) renew() (longer bool) {
	if s.still > 0 {
		if longer = control.LongerPath(s.base, s.still); longer || s.still < s.base {
			s.base = s.still
		}
	}
	if s.stillSteps > 0 {
		switch left := s.stillSum / time.Duration(s.stillSteps); {
		case left >= s.base+s.base/5+foreignQueue: // paths are not steady
			s.foreign, s.doubted = left, false
		case s.foreign > 0 && !s.doubted:
			s.doubted = true
		default:
			s.foreign, s.doubted = 0, false
		}
	}
	s.still, s.stillSum, s.stillSteps = 0, 0, 0
	return longer
}

// foreignQueue is the delay that is left while all hold back, from which on somebody else must have
// queues stand.
const foreignQueue = 10 * time.Millisecond

// Beside others who do not take part a window grows until the round-trip time is besideRTT, or
// besideFactor times what the others make of it where that is more. Their queues come and go within
// seconds, so that what shows while all hold back is no measure of what is needed; and rates are
// lowest when round-trip times are long, so that their product is none either.
const (
	besideRTT    = 250 * time.Millisecond
	besideFactor = 1.5
	// besideTime is in which time a window grows or shrinks by a factor of e at most, besideSmooth
	// that of the mean round-trip time.
	besideTime, besideSmooth = 700 * time.Millisecond, 700 * time.Millisecond
	// besidePackets of all flows are the least, an A-MPDU; besideMost is how many times what is
	// carried in that round-trip time is the most.
	besidePackets = control.AggregatePackets
	besideMost    = 4
)

// beside is a window in bytes that does not keep the direction from what it would get without
// bounds, beside others who do not take part; 0 where there are none. least is the smallest. A slow
// terminal that holds back may see next to no packet come back in that time; what other terminals
// found counts like its own finding, for all wait in the same access point. step is how long
// windows have been as usual since the last call.
func (s *side) beside(step, queue time.Duration, others heard, least float64) float64 {
	foreign, doubted := s.foreign, s.doubted
	if foreign == 0 && others.delay > 0 {
		foreign, doubted = s.base+others.delay, !others.stand
	}
	if foreign == 0 {
		s.window, s.slowRTT = 0, 0
		return 0
	}
	if s.window == 0 {
		// What was carried in the turn in which they showed says little.
		s.window, s.slowRTT = max(s.rate*(foreign+queue).Seconds()/8, s.before), s.recent
	}
	s.slowRTT += time.Duration(min(step.Seconds()/besideSmooth.Seconds(), 1) * float64(s.recent-s.slowRTT))
	target := max(besideRTT, time.Duration(besideFactor*float64(foreign+queue)))
	if s.slowRTT > 0 {
		more := min(max(math.Log(float64(target)/float64(s.slowRTT)), -1), 1)
		s.window *= math.Exp(more * step.Seconds() / besideTime.Seconds())
	}
	// What is carried in a turn is no measure either; but where nobody's queue showed in it this
	// may be among the terminals' own, which a window that begins anew lets show.
	if step > 0 || doubted {
		s.window = min(s.window, besideMost*s.rate*target.Seconds()/8)
	}
	s.window = max(s.window, least)
	return s.window
}

// demand is the rate beyond which the direction has nothing to carry, of a rate that is its
// terminal's.
func (s *side) demand(now time.Duration, of float64) float64 {
	return demand(s.rate, now < s.greedyUntil, of/8)
}
