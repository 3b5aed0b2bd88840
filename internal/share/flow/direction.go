package flow

import (
	"cmp"
	"math"
	"net/netip"
	"time"

	"airtide/internal/tcp"
)

// Unlimited is the demand of a greedy flow or terminal.
var Unlimited = math.Inf(1)

const (
	// rateTime is the time constant of rates. It covers tens of medium accesses of each of sixteen
	// stations.
	rateTime = 300 * time.Millisecond
	// greedyTime is how long a direction counts as greedy after its window was full while data
	// waited.
	greedyTime = time.Second
	// lossTime is the time for which a direction counts as greedy after a loss. CUBIC that loses
	// packets in a short queue fills no window, though it would carry more. Its losses are seconds
	// apart.
	lossTime = 4 * time.Second
	// activeTime is the time for which a direction counts as active after it carried data.
	activeTime = time.Second
	// headroom is the factor by which a flow that is limited by its application may grow at once.
	headroom = 1.25
	// MinDemand in bit/s is the least demand of a direction that carries data.
	MinDemand = 1e6
	// defaultMSS in bytes stands for an unknown MSS.
	defaultMSS = 1448
	// fullWindowPart is the part of round trips with a full receive window above which the window
	// limits the flow. It is below 1 because senders gather segments.
	fullWindowPart = 0.25
	// answerRate in bit/s is the highest rate of small answers in the first step of a flow. A
	// download is faster.
	answerRate = 1e5
)

// Flow is one open flow of this terminal.
type Flow struct {
	ID            tcp.FlowID
	Local, Remote netip.AddrPort
	MSS           int // bytes
	Send, Receive Direction
	// SendBound is the bound of the congestion window in packets, and ReceiveBound that of the
	// receive window in bytes; 0 without a bound.
	SendBound, ReceiveBound uint32
	present                 bool // it is in the newest samples
}

// Direction holds the estimates of one direction of a flow.
type Direction struct {
	Rate        float64       // bit/s, smoothed
	ActiveUntil time.Duration // 0 before the first data
	GreedyUntil time.Duration
	BaseRTT     time.Duration // 0 if unknown
	MeanRTT     time.Duration // mean RTT of the last step, 0 if unknown
	LeastRTT    time.Duration // least RTT of the last step, 0 if unknown
}

// Key names one direction of a flow.
type Key struct {
	ID      tcp.FlowID
	Receive bool
}

// Total sums up one direction of all flows.
type Total struct {
	Rate    float64 // bit/s, smoothed
	Greedy  bool
	BaseRTT time.Duration // the least of all
	Delay   time.Duration // mean excess of round-trip times over base RTTs, weighted by rates
	Flows   int           // active flows
}

func (f *Flow) updateSend(now time.Duration, gain float64, s *Sample) {
	f.Send.updateRate(now, gain, s.SendRate)
	if s.Greedy {
		f.Send.GreedyUntil = max(f.Send.GreedyUntil, now+greedyTime)
	}
	if s.losesSent() {
		f.Send.GreedyUntil = now + lossTime
	}
	mean := s.MeanRTT
	if f.SendBound == 1 {
		mean = 0 // a single packet waits for the receiver's delayed ACK
	}
	f.Send.updateRTT(mean, s.LeastRTT, s.MinRTT)
}

func (f *Flow) updateReceive(now time.Duration, gain float64, s *Sample) {
	first := f.Receive.ActiveUntil == 0
	f.Receive.updateRate(now, gain, s.ReceiveRate)
	w := s.ReceiveWindow
	if w.InUse >= fullWindowPart || first && s.ReceiveRate > answerRate ||
		f.ReceiveBound == 0 && s.ReceiveRate > MinDemand {
		// A new or unbounded flow may have more to receive.
		f.Receive.GreedyUntil = max(f.Receive.GreedyUntil, now+greedyTime)
	}
	if s.losesReceived() {
		f.Receive.GreedyUntil = now + lossTime
	}
	f.Receive.updateRTT(cmp.Or(w.MeanRTT, s.ReceiverRTT), w.LeastRTT, s.MinRTT)
}

func (d *Direction) updateRate(now time.Duration, gain, rate float64) {
	d.Rate += gain * (rate - d.Rate)
	if rate > 0 {
		d.ActiveUntil = now + activeTime
	}
}

// updateRTT adds the round-trip times of a step. The kernel's minimum counts only at first, because
// the kernel keeps it for five minutes and the path may change.
func (d *Direction) updateRTT(mean, least, kernelMin time.Duration) {
	d.MeanRTT = mean
	d.LeastRTT = least
	if d.BaseRTT == 0 {
		d.BaseRTT = kernelMin
	}
	if least > 0 && (d.BaseRTT == 0 || least < d.BaseRTT) {
		d.BaseRTT = least
	}
}

// Active reports whether the direction carried data lately and its base RTT is known.
func (d *Direction) Active(now time.Duration) bool { return now < d.ActiveUntil && d.BaseRTT > 0 }

// Demand returns the highest rate in bit/s that the direction needs. share is the terminal's share
// in bit/s.
func (d *Direction) Demand(now time.Duration, share float64) float64 {
	return demand(d.Rate, now < d.GreedyUntil, share/8)
}

// Demand returns the highest rate in bit/s that the direction needs. A nearly idle direction keeps
// up to a 32nd part of the terminal's share.
func (t *Total) Demand(share float64) float64 { return demand(t.Rate, t.Greedy, share/32) }

func (t *Total) update(gain, rate float64, now time.Duration, flows []*Flow, receive bool) {
	*t = Total{Rate: t.Rate + gain*(rate-t.Rate)}
	rates := 0.0
	delays := 0.0
	for _, f := range flows {
		d := f.Direction(receive)
		t.Greedy = t.Greedy || now < d.GreedyUntil
		if now >= d.ActiveUntil {
			continue
		}
		t.Flows++
		if d.BaseRTT > 0 && (t.BaseRTT == 0 || d.BaseRTT < t.BaseRTT) {
			t.BaseRTT = d.BaseRTT
		}
		if d.MeanRTT > 0 && d.BaseRTT > 0 {
			rates += d.Rate
			delays += d.Rate * float64(max(d.MeanRTT-d.BaseRTT, 0))
		}
	}
	if rates > 0 {
		t.Delay = time.Duration(delays / rates)
	}
}

// demand returns the highest rate in bit/s that is needed. A nearly idle direction keeps the
// smaller of least and MinDemand.
func demand(rate float64, greedy bool, least float64) float64 {
	switch {
	case greedy:
		return Unlimited
	case rate == 0:
		return 0
	}
	return max(headroom*rate, min(MinDemand, least))
}
