package flow

import (
	"cmp"
	"math"
	"slices"
	"time"

	"airtide/internal/tcp"
)

// Set holds the estimates of all open flows of a terminal. The zero value is empty. It is not safe
// for concurrent use.
type Set struct {
	Send, Receive Total
	flows         []*Flow // sorted by ID, so that sums do not depend on the order of samples
	byID          map[tcp.FlowID]*Flow
	last          time.Duration
	elapsed       time.Duration
	lost          bool // the last samples have losses
}

// Update adds the samples of all open flows and of the host. It drops flows without a sample.
func (s *Set) Update(now time.Duration, samples []Sample, host *HostSample) {
	s.elapsed = now - s.last
	s.last = now
	gain := 1 - math.Exp(-s.elapsed.Seconds()/rateTime.Seconds())
	if s.byID == nil {
		s.byID = map[tcp.FlowID]*Flow{}
	}
	s.lost = false
	for i := range samples {
		o := &samples[i]
		s.lost = s.lost || o.losesSent() || o.losesReceived()
		f := s.byID[o.ID]
		if f == nil {
			f = &Flow{ID: o.ID, Local: o.Local, Remote: o.Remote, MSS: defaultMSS}
			s.Add(f)
		}
		f.present = true
		if o.MSS > 0 {
			f.MSS = o.MSS
		}
		f.updateSend(now, gain, o)
		f.updateReceive(now, gain, o)
	}
	s.flows = slices.DeleteFunc(s.flows, func(f *Flow) bool {
		gone := !f.present
		if gone {
			delete(s.byID, f.ID)
		}
		f.present = false
		return gone
	})
	s.Send.update(gain, host.SendRate, now, s.flows, false)
	s.Receive.update(gain, host.ReceiveRate, now, s.flows, true)
}

// Add adds a flow with its estimates.
func (s *Set) Add(f *Flow) {
	if s.byID == nil {
		s.byID = map[tcp.FlowID]*Flow{}
	}
	s.byID[f.ID] = f
	at, _ := slices.BinarySearchFunc(s.flows, f.ID, func(f *Flow, id tcp.FlowID) int { return cmp.Compare(f.ID, id) })
	s.flows = slices.Insert(s.flows, at, f)
}

// All returns the flows in order of their IDs.
func (s *Set) All() []*Flow { return s.flows }

// Flow returns a flow by its ID, or nil.
func (s *Set) Flow(id tcp.FlowID) *Flow { return s.byID[id] }

// Elapsed returns the time between the last two updates.
func (s *Set) Elapsed() time.Duration { return s.elapsed }

// Rate returns the smoothed rate of both directions together, in bit/s.
func (s *Set) Rate() float64 { return s.Send.Rate + s.Receive.Rate }

// Lost reports whether a flow lost packets since the update before.
func (s *Set) Lost() bool { return s.lost }

// Greedy reports whether any flow is greedy.
func (s *Set) Greedy() bool { return s.Send.Greedy || s.Receive.Greedy }

// Demand returns the highest rate in bit/s that the terminal needs. A nearly idle terminal keeps up
// to a hundredth of its standalone rate.
func (s *Set) Demand(standalone float64) float64 {
	return demand(s.Rate(), s.Greedy(), standalone/100)
}

// RTTs returns the base RTT and the mean RTT. The mean RTT is the base RTT plus the mean delay of
// both directions, weighted by rates.
func (s *Set) RTTs() (base, mean time.Duration) {
	base = s.Send.BaseRTT
	if base == 0 || s.Receive.BaseRTT > 0 && s.Receive.BaseRTT < base {
		base = s.Receive.BaseRTT
	}
	if base == 0 || s.Rate() == 0 {
		return base, base
	}
	delay := (s.Send.Rate*float64(s.Send.Delay) + s.Receive.Rate*float64(s.Receive.Delay)) / s.Rate()
	return base, base + time.Duration(delay)
}

// Direction returns one direction of the flow.
func (f *Flow) Direction(receive bool) *Direction {
	if receive {
		return &f.Receive
	}
	return &f.Send
}
