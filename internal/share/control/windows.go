package control

import (
	"math"
	"time"

	"airtide/internal/share/flow"
	"airtide/internal/share/message"
)

// windowController divides a terminal's share into windows of its flows.
type windowController struct {
	flows   *flow.Set // the terminal's flows
	balance directionBalance
}

// windowStep is a step of the windows.
type windowStep struct {
	now     time.Duration
	elapsed time.Duration // time since the step before
	share   float64       // the terminal's share in bit/s
}

func (w *windowController) reset() { w.balance = directionBalance{} }

// ofShare gives each flow its part of the terminal's share. If the share is 0 although the terminal
// has something to carry, its flows keep the smallest windows. standalone is the terminal's
// standalone rate in bit/s.
func (w *windowController) ofShare(s windowStep, d Decision, standalone float64) (b bounds) {
	if d.Share == 0 && w.flows.Demand(standalone) == 0 {
		return b
	}
	share := max(d.Share, 1)
	parts := w.directionShares(share)
	forSend, forReceive := w.balance.Step(s.elapsed,
		Direction{Share: parts[0], Rate: w.flows.Send.Rate, Limited: w.flows.Send.Greedy},
		Direction{Share: parts[1], Rate: w.flows.Receive.Rate, Limited: w.flows.Receive.Greedy})
	sent := func(part float64, base time.Duration) float64 { return forSend * d.Window(part, base) }
	for _, one := range w.ofDirection(s, false, parts[0]/share, d.Whole, sent) {
		b.addSend(one)
	}
	down := d
	down.QueueTarget = d.ReceivedTarget
	received := func(part float64, base time.Duration) float64 { return forReceive * down.Window(part, base) }
	for _, one := range w.ofDirection(s, true, parts[1]/share, d.Whole, received) {
		b.addReceive(one)
	}
	return b
}

// directionShares splits a rate in bit/s between sending and receiving, by demand.
func (w *windowController) directionShares(rate float64) []float64 {
	return Split(rate, []float64{w.flows.Send.Demand(rate), w.flows.Receive.Demand(rate)})
}

// equalCap bounds every sending flow by the window that an equal part of the capacity needs. rtt is
// the mean RTT of sending flows.
func (w *windowController) equalCap(s windowStep, rtt time.Duration) (b bounds) {
	for _, one := range w.ofDirection(s, false, 1, false, func(part float64, base time.Duration) float64 {
		return EqualCap(s.share*part, base, rtt)
	}) {
		one.least = LeastWindow
		b.addSend(one)
	}
	return b
}

// equalRange bounds every sending flow from below and above, around the window that an equal part
// of the capacity needs at the measured RTT.
func (w *windowController) equalRange(s windowStep, rtt time.Duration) (b bounds) {
	for _, one := range w.ofDirection(s, false, 1, false, func(part float64, base time.Duration) float64 {
		_, greatest := EqualRange(s.share*part, max(rtt, base))
		return greatest
	}) {
		one.least = LeastWindow
		least := one.bytes * rangeFloor / rangeCap / float64(one.flow.MSS)
		b.addSend(one)
		bound := &b.send[len(b.send)-1]
		bound.Least = uint32(min(max(least, LeastWindow), float64(bound.Packets)))
	}
	return b
}

// window is the window of one direction of one flow.
type window struct {
	flow  *flow.Flow
	bytes float64
	least float64 // smallest window in packets
}

// ofDirection returns the windows of the active flows of a direction. whole rounds their sum to
// whole A-MPDUs.
func (w *windowController) ofDirection(
	s windowStep, receive bool, part float64, whole bool, bytes func(part float64, base time.Duration) float64,
) []window {
	all := w.divide(s, receive, part, bytes)
	if whole {
		roundToAggregates(all)
	}
	return all
}

// divide divides a part of the share among the active flows of a direction: by demand, but at least
// an equal part each, so that new flows can grow. A flow that has carried nothing yet is left out.
// bytes returns the window of a part of the share with a base RTT.
func (w *windowController) divide(
	s windowStep, receive bool, part float64, bytes func(part float64, base time.Duration) float64,
) (all []window) {
	var demands []float64
	for _, f := range w.flows.All() {
		if d := f.Direction(receive); d.Active(s.now) {
			one := window{flow: f, least: LeastWindow}
			if s.now < d.GreedyUntil && w.flows.Rate() >= satisfiedPart*s.share {
				one.least = LeastGreedyWindow
			}
			all = append(all, one)
			demands = append(demands, d.Demand(s.now, part*s.share))
		}
	}
	parts := Split(1, relative(demands, part*s.share))
	for i, one := range all {
		all[i].bytes = bytes(part*max(parts[i], 1/float64(len(all))), one.flow.Direction(receive).BaseRTT)
	}
	return all
}

// roundToAggregates brings the sum of all windows to whole A-MPDUs if it is near. Each window
// changes in proportion. The greatest window gets the packets that remain.
func roundToAggregates(all []window) {
	total := 0.0
	greatest := 0
	for i, one := range all {
		total += one.bytes / float64(one.flow.MSS)
		if one.bytes > all[greatest].bytes {
			greatest = i
		}
	}
	whole := WholeAggregates(total)
	if whole == total {
		return
	}
	left := whole
	for i, one := range all {
		packets := math.Floor(whole / total * one.bytes / float64(one.flow.MSS))
		all[i].bytes = packets * float64(one.flow.MSS)
		left -= packets
	}
	all[greatest].bytes += left * float64(all[greatest].flow.MSS)
}

// relative turns demands into parts of a rate.
func relative(demands []float64, rate float64) []float64 {
	for i := range demands {
		if rate > 0 {
			demands[i] /= rate
		}
	}
	return demands
}

// bounds holds congestion windows of sending flows and receive windows of receiving flows.
type bounds struct {
	send    []sendBound
	receive []receiveBound
}

type sendBound struct {
	SendBound
	flow *flow.Flow
}

type receiveBound struct {
	flow  *flow.Flow
	bytes uint32
}

var noBounds bounds

func (b *bounds) addSend(w window) {
	packets := uint32(min(max(w.bytes/float64(w.flow.MSS), w.least), math.MaxInt32))
	b.send = append(b.send, sendBound{SendBound{w.flow.Local, w.flow.Remote, packets, 0}, w.flow})
}

func (b *bounds) addReceive(w window) {
	bytes := min(max(w.bytes, w.least*float64(w.flow.MSS)), math.MaxInt32)
	b.receive = append(b.receive, receiveBound{w.flow, uint32(bytes)})
}

// list copies bounds to the outputs, and notes those that are in force.
func (c *Core) list(b bounds, out *Outputs) {
	for _, f := range c.flows.All() {
		f.SendBound = 0
	}
	for _, s := range b.send {
		s.flow.SendBound = s.Packets
		out.Send = append(out.Send, s.SendBound)
	}
	if !c.config.BoundReceive {
		return // no receive window is in force
	}
	bytes := map[*flow.Flow]uint32{}
	for _, r := range b.receive {
		bytes[r.flow] = r.bytes
		bound := ReceiveBound{Local: r.flow.Local, Remote: r.flow.Remote, Bytes: r.bytes}
		out.View.Receive = append(out.View.Receive, bound)
	}
	for _, f := range c.flows.All() {
		f.ReceiveBound = bytes[f]
		if f.Receive.ActiveUntil > 0 {
			out.Receive = append(out.Receive, ReceiveBound{Local: f.Local, Remote: f.Remote, Bytes: f.ReceiveBound})
		}
	}
}

const (
	// rttProbePackets is the greatest window in an RTT probe. With four packets a loss is still
	// repaired without a timeout. The smallest is LeastWindow: the RTT of a single packet is that
	// of a delayed ACK.
	rttProbePackets = 4
	// resumeTime is how long after a probe lower bounds restore the windows at once. Afterwards
	// they would grow by slow start or not at all.
	resumeTime = 200 * time.Millisecond
)

// holdsBack reports whether the terminal holds back for a probe.
func (p *probeState) holdsBack() bool { return p.active.Kind == message.RTTProbe }

// override replaces bounds by those of a probe, or of the time just after one.
func (p *probeState) override(now time.Duration, b *bounds) {
	switch {
	case p.holdsBack():
		for i := range b.send {
			s := &b.send[i]
			if s.Packets < LeastWindow {
				s.Packets = LeastWindow
				s.Least = LeastWindow // at once
			}
			s.Packets = min(s.Packets, rttProbePackets)
		}
		for i := range b.receive {
			r := &b.receive[i]
			r.bytes = uint32(min(max(int(r.bytes), LeastWindow*r.flow.MSS), rttProbePackets*r.flow.MSS))
		}
	case p.ended > 0 && now-p.ended < resumeTime:
		for i := range b.send { // lower bounds raise windows to their upper bounds at once
			b.send[i].Least = b.send[i].Packets
		}
	}
}
