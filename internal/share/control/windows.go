package control

import (
	"math"
	"time"

	"airtide/internal/share/flow"
)

// windowController divides a terminal's share into windows of its flows.
type windowController struct {
	balance directionBalance
	foreign map[flow.Key]*foreignWindow
}

func (w *windowController) reset() {
	w.balance = directionBalance{}
	for _, f := range w.foreign {
		f.bytes = 0
		f.smoothedRTT = 0
	}
}

func (w *windowController) prune(flows *flow.Set) {
	for key := range w.foreign {
		if flows.Flow(key.ID) == nil {
			delete(w.foreign, key)
		}
	}
}

func (w *windowController) foreignWindow(key flow.Key) *foreignWindow {
	if w.foreign == nil {
		w.foreign = map[flow.Key]*foreignWindow{}
	}
	if w.foreign[key] == nil {
		w.foreign[key] = &foreignWindow{}
	}
	return w.foreign[key]
}

// bounds holds congestion windows of sending flows and receive windows of receiving flows.
type bounds struct {
	send    []SendBound
	receive []receiveBound
}

type receiveBound struct {
	flow  *flow.Flow
	bytes uint32
}

var noBounds bounds

// list copies bounds to the outputs, and notes which receive windows are in force.
func (c *Core) list(b bounds, out *Outputs) {
	out.Send = b.send
	if !c.config.BoundReceive {
		return // nothing is in force for what is received
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

// shareWindows gives each flow its part of the terminal's share. If the share is 0 although the
// terminal has something to carry, its flows keep the smallest windows.
func (c *Core) shareWindows(now time.Duration, d Decision) (b bounds) {
	if d.Share == 0 && c.flows.Demand(c.standaloneRate()) == 0 {
		return b
	}
	send, receive := &c.flows.Send, &c.flows.Receive
	share := max(d.Share, 1)
	parts := Split(share, []float64{send.Demand(share), receive.Demand(share)})
	forSend, forReceive := c.windows.balance.Step(c.elapsed,
		Direction{Share: parts[0], Rate: send.Rate, Limited: send.Greedy},
		Direction{Share: parts[1], Rate: receive.Rate, Limited: receive.Greedy})
	sent := func(part float64, base time.Duration) float64 { return forSend * d.Window(part, base) }
	for _, w := range c.flowWindows(now, false, parts[0]/share, d.Whole, sent) {
		b.addSend(w)
	}
	received := func(part float64, base time.Duration) float64 { return forReceive * d.Window(part, base) }
	for _, w := range c.flowWindows(now, true, parts[1]/share, d.Whole, received) {
		bytes := uint32(min(max(w.bytes, LeastWindow*float64(w.flow.MSS)), math.MaxInt32))
		b.receive = append(b.receive, receiveBound{w.flow, bytes})
	}
	return b
}

// equalShare divides the capacity equally among the sending terminals, in bit/s.
func (c *Core) equalShare(in Inputs, v *View) float64 {
	n := 1
	for i := range in.Peers {
		if in.Peers[i].Report.UploadKbps > 0 {
			n++
		}
	}
	c.share = c.config.CapacityBps / float64(n)
	v.ShareBps = c.share
	v.TotalBps = c.config.CapacityBps
	v.Correction = 1
	return c.share
}

// equalCap bounds every sending flow by the window that an equal part of the capacity needs.
func (c *Core) equalCap(now time.Duration, in Inputs, v *View) (b bounds) {
	share := c.equalShare(in, v)
	for _, w := range c.flowWindows(now, false, 1, false, func(part float64, base time.Duration) float64 {
		return EqualCap(share*part, base, c.host.MeanRTT)
	}) {
		b.addSend(w)
	}
	return b
}

// equalRange bounds every sending flow from below and above, around the window that an equal part
// of the capacity needs at the measured RTT.
func (c *Core) equalRange(now time.Duration, in Inputs, v *View) (b bounds) {
	share := c.equalShare(in, v)
	for _, w := range c.flowWindows(now, false, 1, false, func(part float64, base time.Duration) float64 {
		_, greatest := EqualRange(share*part, max(c.host.MeanRTT, base))
		return greatest
	}) {
		least := w.bytes * rangeFloor / rangeCap / float64(w.flow.MSS)
		b.addSend(w)
		bound := &b.send[len(b.send)-1]
		bound.Least = uint32(min(max(least, LeastWindow), float64(bound.Packets)))
	}
	return b
}

func (b *bounds) addSend(w window) {
	b.send = append(b.send, SendBound{
		Local: w.flow.Local, Remote: w.flow.Remote,
		Packets: uint32(min(max(w.bytes/float64(w.flow.MSS), LeastWindow), math.MaxInt32)),
	})
}

// window is the window of one direction of one flow.
type window struct {
	flow  *flow.Flow
	bytes float64
}

// flowWindows divides a part of the share among the active flows of a direction: by demand, but at
// least an equal part each, so that new flows can grow. A flow that has carried nothing yet is not
// bounded. bytes returns the window of a part of the share with a base RTT.
func (c *Core) flowWindows(
	now time.Duration, receive bool, part float64, whole bool, bytes func(part float64, base time.Duration) float64,
) (all []window) {
	var demands []float64
	for _, f := range c.flows.All() {
		if d := f.Direction(receive); d.Active(now) {
			all = append(all, window{flow: f})
			demands = append(demands, d.Demand(now, part*c.share))
		}
	}
	parts := Split(1, relative(demands, part*c.share))
	elapsed := c.elapsed
	if !c.probe.settled(now) {
		elapsed = 0
	}
	for i, w := range all {
		all[i].bytes = bytes(part*max(parts[i], 1/float64(len(all))), w.flow.Direction(receive).BaseRTT)
	}
	if whole {
		roundToAggregates(all)
	}
	for i, w := range all {
		key, d := flow.Key{ID: w.flow.ID, Receive: receive}, w.flow.Direction(receive)
		foreignRTT, missed := c.baseRTT.foreignRTT(key, d)
		if foreignRTT > 0 && c.config.Options.off(ForeignWindow) {
			all[i].bytes = math.MaxInt32 // as if it was not bounded
			continue
		}
		f := c.windows.foreignWindow(key)
		least := foreignPackets * float64(w.flow.MSS) / float64(len(all))
		all[i].bytes = max(w.bytes, f.update(elapsed, c.decision.QueueTarget, d, foreignRTT, missed, least))
		if elapsed > 0 {
			f.before = all[i].bytes
		}
	}
	return all
}

// roundToAggregates brings the sum of all windows to whole A-MPDUs if it is near. Each window
// changes in proportion. The greatest window gets the packets that remain.
func roundToAggregates(all []window) {
	total, greatest := 0.0, 0
	for i, w := range all {
		total += w.bytes / float64(w.flow.MSS)
		if w.bytes > all[greatest].bytes {
			greatest = i
		}
	}
	whole := WholeAggregates(total)
	if whole == total {
		return
	}
	left := whole
	for i, w := range all {
		packets := math.Floor(whole / total * w.bytes / float64(w.flow.MSS))
		all[i].bytes = packets * float64(w.flow.MSS)
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
