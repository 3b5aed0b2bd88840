package share

import (
	"math"
	"time"

	"airtide/share/allocate"
	"airtide/share/control"
	"airtide/share/message"
	"airtide/share/own"
	"airtide/tcp"
)

// self is what the terminal knows of itself: its flows, smoothed, and the highest rate that it has seen.
type self struct {
	maximum float64 // configured, or 0
	weight  float64

	up, down    float64 // bit/s, smoothed
	highest     float64
	greedyUntil time.Duration
	last        time.Duration
	state       own.State // of the last step
	counts      message.Counts
}

const (
	// rateTime smooths rates: some tens of accesses to the medium of each of sixteen stations.
	rateTime = 300 * time.Millisecond
	// greedyFor is how long a terminal counts as wanting more after a flow was seen to.
	greedyFor = time.Second
	// headroom is by how much a terminal that is limited by its applications may grow at once.
	headroom, leastDemand = 1.25, 1e6
	// highestHalves: the highest rate that was seen loses half of its weight in so long, since radios move.
	highestHalves = time.Minute
)

// take takes in what happened since the last step.
func (s *self) take(now time.Duration, state own.State) {
	since := now - s.last
	s.last, s.state = now, state
	gain := 1 - math.Exp(-since.Seconds()/rateTime.Seconds())
	s.up += gain * (state.Up - s.up)
	s.down += gain * (state.Down - s.down)
	s.highest = max(s.highest*math.Exp2(-since.Seconds()/highestHalves.Seconds()), s.up)
	if state.Greedy {
		s.greedyUntil = now + greedyFor
	}
	s.counts.Retransmissions += uint32(state.Retransmits)
	for code := tcp.CodeReordering; code <= tcp.CodeTimeout; code++ {
		s.counts.Errors[code-1] += uint32(state.Errors[code])
	}
}

func (s *self) alone() float64 {
	if s.maximum > 0 {
		return s.maximum
	}
	return s.highest
}

// demand is the rate beyond which it has nothing to send.
func (s *self) demand() float64 {
	if s.last < s.greedyUntil {
		return allocate.Unlimited
	}
	if s.up == 0 {
		return 0
	}
	return max(headroom*s.up, leastDemand)
}

// terminal is itself among the others.
func (s *self) terminal() control.Terminal {
	return control.Terminal{
		Max: s.alone(), Rate: s.up, Demand: s.demand(), Weight: s.weight, MinRTT: s.state.MinRTT, RTT: s.state.RTT,
	}
}

// report is what it says to the others.
func (s *self) report(state message.State, share float64) message.Report {
	r := message.Report{
		State: state, MaxKbps: kbps(s.alone()), MaxSource: message.Measured, DeliveryKbps: kbps(s.up + s.down),
		UploadKbps: kbps(s.up), DownloadKbps: kbps(s.down), BoundKbps: kbps(share), Weight: uint16(math.Round(1000 * s.weight)),
		MinRTTUs: us(s.state.MinRTT), SmoothedRTTUs: us(s.state.RTT), RTT95Us: us(s.state.RTT95),
		QueuedBytes: uint32(min(max(s.state.QueuedBytes, 0), message.MostQueuedBytes)), Counts: s.counts,
	}
	switch {
	case r.MaxKbps == 0:
		r.MaxSource = message.Unknown
	case s.maximum > 0:
		r.MaxSource = message.Configured
	}
	if d := s.demand(); !math.IsInf(d, 1) {
		r.ApplicationLimited, r.DemandKbps = true, kbps(d)
	}
	for _, f := range s.state.Flows {
		if f.Up > 0 {
			r.FlowsUp++
		}
		if f.Down > 0 {
			r.FlowsDown++
		}
	}
	return r
}

// of is a peer as the control sees it; false while its maximum is not known.
func of(r *message.Report) (control.Terminal, bool) {
	t := control.Terminal{
		Max: r.MaxKbps.Bps(), Rate: r.UploadKbps.Bps(), Demand: allocate.Unlimited, Weight: float64(r.Weight) / 1000,
		MinRTT: time.Duration(r.MinRTTUs) * time.Microsecond, RTT: time.Duration(r.SmoothedRTTUs) * time.Microsecond,
	}
	if r.ApplicationLimited {
		t.Demand = r.DemandKbps.Bps()
	}
	return t, r.MaxKbps > 0
}

// kbps cuts off, unlike message.RateOf: a smoothed rate never becomes zero, and below a kbit/s it is none.
func kbps(bps float64) message.Rate { return message.Rate(min(bps/1000, float64(message.HighestRate))) }

func us(d time.Duration) uint32 { return uint32(min(d.Microseconds(), message.LongestRTTUs)) }
