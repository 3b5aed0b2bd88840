package oracle

import (
	"math"
	"time"

	"airtide/internal/share/allocate"
	"airtide/internal/share/message"
	"airtide/internal/tcp"
	"airtide/test/oracle/control"
)

// self is what the terminal knows of itself: its flows, smoothed, and what it reaches alone.
type self struct {
	maximum float64 // configured, or 0
	phy     float64 // PHY rate; 0 while it is not known
	byPHY   float64 // what it reaches alone by that; 0 while it is not known
	single  bool    // each packet goes by itself
	found   control.Maximum
	weight  float64

	flows    map[tcp.FlowID]*flow
	up, down direction
	last     time.Duration
	since    time.Duration // how long the last step was
	state    ownState      // of the last step
	counts   message.Counts
}

// direction is what all flows do in one direction.
type direction struct {
	rate   float64 // bit/s, smoothed
	greedy bool
	base   time.Duration // the smallest of all
	delay  time.Duration // by which round-trip times are above the smallest, weighted by rates
	flows  int           // that carry something
}

const (
	// rateTime smooths rates: some tens of accesses to the medium of each of sixteen stations.
	rateTime = 300 * time.Millisecond
	// greedyFor is how long a terminal counts as wanting more after a flow was seen to.
	greedyFor = time.Second
	// headroom is by how much a terminal that is limited by its applications may grow at once.
	headroom, leastDemand = 1.25, 1e6
)

// take takes in what happened since the last step.
func (s *self) take(now time.Duration, state ownState, seen []windowSeen) {
	since := now - s.last
	s.last, s.since, s.state = now, since, state
	gain := 1 - math.Exp(-since.Seconds()/rateTime.Seconds())
	for i := range state.Flows {
		o := &state.Flows[i]
		f := s.flows[o.ID]
		if f == nil {
			f = &flow{ends: ends{Local: o.Local, Remote: o.Remote}, mss: defaultMSS}
			s.flows[o.ID] = f
		}
		f.present = true
		if o.MSS > 0 {
			f.mss = o.MSS
		}
		f.sent(now, gain, o)
		f.received(now, gain, o, seen[i])
	}
	for id, f := range s.flows {
		if !f.present {
			delete(s.flows, id)
		}
		f.present = false
	}
	s.up.take(gain, state.Up, now, s.flows, (*flow).upward)
	s.down.take(gain, state.Down, now, s.flows, (*flow).downward)
	s.counts.Retransmissions += uint32(state.Retransmits)
	for code := tcp.CodeReordering; code <= tcp.CodeTimeout; code++ {
		s.counts.Errors[code-1] += uint32(state.Errors[code])
	}
}

func (f *flow) upward() *side   { return &f.up }
func (f *flow) downward() *side { return &f.down }

func (d *direction) take(gain, rate float64, now time.Duration, flows map[tcp.FlowID]*flow, of func(*flow) *side) {
	*d = direction{rate: d.rate + gain*(rate-d.rate)}
	rates, delays := 0.0, 0.0
	for _, id := range sortedKeys(flows) {
		s := of(flows[id])
		d.greedy = d.greedy || now < s.greedyUntil
		if now >= s.activeUntil {
			continue
		}
		d.flows++
		if s.base > 0 && (d.base == 0 || s.base < d.base) {
			d.base = s.base
		}
		if s.rtt > 0 && s.base > 0 {
			rates += s.rate
			delays += s.rate * float64(max(s.rtt-s.base, 0))
		}
	}
	if rates > 0 {
		d.delay = time.Duration(delays / rates)
	}
}

// demand of a rate that is the terminal's, of which an idle direction is kept no more than a 32nd
// part.
func (d *direction) demand(of float64) float64 { return demand(d.rate, d.greedy, of/32) }

// demand is the rate beyond which there is nothing to carry; least is what is kept for something
// that carries next to nothing.
func demand(rate float64, greedy bool, least float64) float64 {
	switch {
	case greedy:
		return allocate.Unlimited
	case rate == 0:
		return 0
	}
	return max(headroom*rate, min(leastDemand, least))
}

// alone is what the terminal reaches alone, by the best that is known of it; 0 when nothing is.
func (s *self) alone() float64 {
	switch {
	case s.maximum > 0:
		return s.maximum
	case s.byPHY > 0:
		return s.byPHY
	}
	return s.found.Value()
}

// searches says whether the terminal has to find out what it reaches alone.
func (s *self) searches() bool { return s.maximum == 0 && s.byPHY == 0 }

// stillAfter is how long all have held back when queues are empty that made for such a mean
// round-trip time.
func stillAfter(mean time.Duration) time.Duration { return max(60*time.Millisecond, mean*3/2) }

// still notes round-trip times of a step in a time since begin in which all hold back; mean is what
// they were before.
func (s *self) still(now, step, begin, mean time.Duration) {
	if now-step < begin+stillAfter(mean) {
		return
	}
	for _, f := range s.flows {
		for _, d := range []*side{&f.up, &f.down} {
			if d.least > 0 && (d.still == 0 || d.least < d.still) {
				d.still = d.least
			}
			if d.rtt > 0 {
				d.stillSum += d.rtt
				d.stillSteps++
			}
		}
	}
}

// foreign says whether somebody who does not take part has queues stand.
func (s *self) foreign() bool { return s.any(func(d *side) bool { return d.foreign > 0 }) }

// doubted says whether others' queues stood and did not the last time.
func (s *self) doubted() bool { return s.any(func(d *side) bool { return d.doubted }) }

// doubtForeign has the next time in which all hold back decide whether others' queues still stand,
// and says whether they did: those of somebody who has begun to take part are others' no more.
func (s *self) doubtForeign() bool {
	for _, f := range s.flows {
		for _, d := range []*side{&f.up, &f.down} {
			d.doubted = d.foreign > 0
		}
	}
	return s.doubted()
}

// any says whether something is so of a direction of any flow.
func (s *self) any(is func(*side) bool) bool {
	for _, f := range s.flows {
		if is(&f.up) || is(&f.down) {
			return true
		}
	}
	return false
}

// renewBases takes the smallest round-trip times for what they were while all held back, and says
// whether any path has become longer.
func (s *self) renewBases() (longer bool) {
	for _, f := range s.flows {
		up, down := f.up.renew(), f.down.renew()
		longer = longer || up || down
	}
	return longer
}

// forget forgets what was found of a cell in which the terminal no longer is. What its flows' paths
// are it sees anew.
func (s *self) forget() {
	s.found = control.Maximum{}
	for _, f := range s.flows {
		for _, d := range []*side{&f.up, &f.down} {
			d.window, d.slowRTT, d.foreign, d.doubted = 0, 0, 0, false
			d.still, d.stillSum, d.stillSteps = 0, 0, 0
		}
	}
}

func (s *self) rate() float64 { return s.up.rate + s.down.rate }

// demand of a terminal that carries next to nothing is a hundredth of what it reaches alone.
func (s *self) demand() float64 { return demand(s.rate(), s.up.greedy || s.down.greedy, s.alone()/100) }

// rtts are the smallest round-trip time, and the mean: above it by what rates are delayed by in
// both directions.
func (s *self) rtts() (base, mean time.Duration) {
	base = s.up.base
	if base == 0 || s.down.base > 0 && s.down.base < base {
		base = s.down.base
	}
	if base == 0 || s.rate() == 0 {
		return base, base
	}
	delay := (s.up.rate*float64(s.up.delay) + s.down.rate*float64(s.down.delay)) / s.rate()
	return base, base + time.Duration(delay)
}

// terminal is itself among the others.
func (s *self) terminal() control.Terminal {
	t := control.Terminal{
		Max: s.alone(), Rate: s.rate(), Demand: s.demand(), Weight: s.weight, Measured: s.searches(), Single: s.single,
	}
	t.MinRTT, t.RTT = s.rtts()
	return t
}

// report is what it says to the others.
func (s *self) report(state message.State, share float64) message.Report {
	base, mean := s.rtts()
	r := message.Report{
		State: state, MaxKbps: kbps(s.alone()), MaxSource: message.Measured, PHYKbps: kbps(s.phy), DeliveryKbps: kbps(s.rate()),
		UploadKbps: kbps(s.up.rate), DownloadKbps: kbps(s.down.rate), BoundKbps: kbps(share), Weight: uint16(math.Round(1000 * s.weight)),
		MinRTTUs: message.Microseconds(base), SmoothedRTTUs: message.Microseconds(mean), RTT95Us: message.Microseconds(max(s.state.RTT95, mean)),
		QueuedBytes: uint32(min(max(s.state.QueuedBytes, 0), message.MostQueuedBytes)), Counts: s.counts,
		FlowsUp: flows(s.up.flows), FlowsDown: flows(s.down.flows), ForeignQueues: s.foreign() && !s.doubted(), SingleFrames: s.single,
	}
	switch {
	case r.MaxKbps == 0:
		r.MaxSource = message.Unknown
	case s.maximum > 0:
		r.MaxSource = message.Configured
	case s.byPHY > 0:
		r.MaxSource = message.PHY
	}
	if d := s.demand(); !math.IsInf(d, 1) {
		r.ApplicationLimited, r.DemandKbps = true, kbps(d)
	}
	return r
}

// kbps cuts off, unlike message.RateOf: a smoothed rate never becomes zero, and below a kbit/s it
// is none.
func kbps(bps float64) message.Rate { return message.Rate(min(bps/1000, float64(message.HighestRate))) }

func flows(n int) uint16 { return uint16(min(n, math.MaxUint16)) }
