package oracle

import (
	"cmp"
	"math"
	"slices"
	"time"

	"airtide/internal/share/allocate"
	"airtide/internal/share/message"
	"airtide/internal/tcp"
	"airtide/test/oracle/control"
)

// bounds are the windows of flows: congestion windows of what they send, receive windows of what
// they receive.
type bounds struct {
	up   []sendBound
	down map[tcp.FlowID]uint32 // bytes
}

var noBounds bounds

// decide finds the bounds of the flows, or why there are none.
func (a *agent) decide(now, quiet time.Duration) (b bounds, why string) {
	var err error
	s := &a.status
	s.ShareBps, s.TotalBps, s.CapacityBps, s.Limit, s.QueueTargetUs, s.Correction = 0, 0, 0, "", 0, 0
	a.since = min(now-a.decided, control.LongestStep)
	a.decided = now
	defer func() {
		if why != "" {
			a.together.heldSince = 0
		}
	}()
	switch {
	case len(a.peers) == 0:
		return b, "no other terminal is heard"
	case quiet > a.patience:
		return b, "nobody has been heard for too long"
	case a.self.alone() == 0:
		return b, "it is not known what this terminal reaches alone"
	}
	if a.config.Policy == control.EqualCapPolicy {
		return a.equalCap(now), ""
	}
	all := a.terminals(now)
	a.together.compare(now, a, all)
	if a.together.phase.Kind == message.ReleaseProbe {
		return b, a.together.free(now)
	}
	if a.decision.Share == 0 || a.together.usual(now) {
		if a.decision, err = a.control.Step(now, 0, all); err != nil {
			return b, err.Error()
		}
		a.together.asks(now, a, a.decision)
	}
	d := a.decision
	s.ShareBps, s.TotalBps, s.Limit = d.Share, d.Total, d.Binds.String()
	s.QueueTargetUs, s.Correction = d.QueueTarget.Microseconds(), d.Correction
	if !math.IsInf(d.Capacity, 1) {
		s.CapacityBps = d.Capacity
	}
	b = a.shares(now, d)
	a.together.adapt(now, &b, &a.self)
	return b, ""
}

const (
	// idlePart is what a terminal carries at most, as a part of what it reaches alone, that counts
	// as idle.
	idlePart = 0.02
	// beginTogether is within which time terminals begin together; what they carry shows a round
	// trip later.
	beginTogether = 100 * time.Millisecond
)

// terminals are this one, which comes first, and those of the others of which it is known what they
// reach alone. When it begins, those that were idle count as ones that want all until they have
// said so anew: they may be beginning too, and if each took the window that it has alone, the
// queues would be long before the first reports of it came, and hold them up.
func (a *agent) terminals(now time.Duration) []control.Terminal {
	own := a.self.terminal()
	if a.self.state.Up+a.self.state.Down <= idlePart*own.Max {
		a.idleAt = now
	}
	all := []control.Terminal{own}
	for i := range a.peers {
		p := &a.peers[i]
		if p.Report.MaxKbps == 0 {
			continue
		}
		t := control.TerminalOf(p)
		known := a.idleAt + own.MinRTT + beginTogether + time.Duration(p.Report.PeriodMs)*time.Millisecond/2
		if now > a.idleAt && time.Duration(p.HeardNs) < known && t.Rate <= idlePart*t.Max {
			t.Demand = allocate.Unlimited
		}
		all = append(all, t)
	}
	return all
}

// shares gives each flow its part of the terminal's share. A terminal that is to have nothing
// though it wants something, as a slow one where the total comes first, keeps to the smallest
// windows.
func (a *agent) shares(now time.Duration, d control.Decision) (b bounds) {
	if d.Share == 0 && a.self.demand() == 0 {
		return b
	}
	u, v := &a.self.up, &a.self.down
	share := max(d.Share, 1)
	parts := control.Split(share, []float64{u.demand(share), v.demand(share)})
	forUp, forDown := a.balance.Step(a.since,
		control.Direction{Share: parts[0], Rate: u.rate, Limited: u.greedy},
		control.Direction{Share: parts[1], Rate: v.rate, Limited: v.greedy})
	for _, w := range a.windows(now, (*flow).upward, parts[0]/share, d.Whole, func(part float64, base time.Duration) float64 {
		return forUp * d.Window(part, base)
	}) {
		b.send(w)
	}
	b.down = map[tcp.FlowID]uint32{}
	for _, w := range a.windows(now, (*flow).downward, parts[1]/share, d.Whole, func(part float64, base time.Duration) float64 {
		return forDown * d.Window(part, base)
	}) {
		b.down[w.id] = uint32(min(max(w.bytes, control.LeastWindow*float64(w.flow.mss)), math.MaxInt32))
	}
	return b
}

// equalCap bounds every flow that sends by the window that an equal part of the capacity needs.
func (a *agent) equalCap(now time.Duration) (b bounds) {
	n := 1
	for _, p := range a.peers {
		if p.Report.UploadKbps > 0 {
			n++
		}
	}
	share := a.config.CapacityBps / float64(n)
	a.status.ShareBps, a.status.TotalBps, a.status.Correction = share, a.config.CapacityBps, 1
	for _, w := range a.windows(now, (*flow).upward, 1, false, func(part float64, base time.Duration) float64 {
		return control.EqualCap(share*part, base, a.self.state.RTT)
	}) {
		b.send(w)
	}
	return b
}

func (b *bounds) send(w window) {
	b.up = append(b.up, sendBound{
		Local: w.flow.ends.Local, Remote: w.flow.ends.Remote, Packets: uint32(min(max(w.bytes/float64(w.flow.mss), control.LeastWindow), math.MaxInt32)),
	})
}

// window is that of one direction of one flow.
type window struct {
	id    tcp.FlowID
	flow  *flow
	bytes float64
}

// windows divides a part of the share among the flows that carry something in a direction: by what
// they want, but an equal part at least, so that a flow which begins is not held back. A flow that
// has carried nothing yet is not bound: it has a few packets.
func (a *agent) windows(now time.Duration, of func(*flow) *side, part float64, whole bool, bytes func(part float64, base time.Duration) float64) (all []window) {
	var wants []float64
	for id, f := range a.self.flows {
		if s := of(f); now < s.activeUntil && s.base > 0 {
			all = append(all, window{id: id, flow: f})
		}
	}
	slices.SortFunc(all, func(a, b window) int { return cmp.Compare(a.id, b.id) })
	for _, w := range all {
		wants = append(wants, of(w.flow).demand(now, part*a.status.ShareBps))
	}
	parts := control.Split(1, relative(wants, part*a.status.ShareBps))
	step := a.since
	if !a.together.usual(now) {
		step = 0
	}
	for i := range all {
		all[i].bytes = bytes(part*max(parts[i], 1/float64(len(all))), of(all[i].flow).base)
	}
	if whole {
		align(all)
	}
	for i := range all {
		s := of(all[i].flow)
		all[i].bytes = max(all[i].bytes, s.beside(step, a.decision.QueueTarget, a.together.heard,
			besidePackets*float64(all[i].flow.mss)/float64(len(all))))
		if step > 0 {
			s.before = all[i].bytes
		}
	}
	return all
}

// align makes all windows together whole A-MPDUs where they are near, each in proportion; what that
// leaves of packets has the greatest.
func align(all []window) {
	total, greatest := 0.0, 0
	for i, w := range all {
		total += w.bytes / float64(w.flow.mss)
		if w.bytes > all[greatest].bytes {
			greatest = i
		}
	}
	whole := control.WholeAggregates(total)
	if whole == total {
		return
	}
	left := whole
	for i, w := range all {
		packets := math.Floor(whole / total * w.bytes / float64(w.flow.mss))
		all[i].bytes = packets * float64(w.flow.mss)
		left -= packets
	}
	all[greatest].bytes += left * float64(all[greatest].flow.mss)
}

// relative are demands as parts of a rate.
func relative(demands []float64, rate float64) []float64 {
	for i := range demands {
		if rate > 0 {
			demands[i] /= rate
		}
	}
	return demands
}

// receiveBounds are the receive windows of all flows, those that are not bounded among them, which
// are measured.
func (a *agent) receiveBounds(bytes map[tcp.FlowID]uint32) (all []receiveBound) {
	for _, id := range sortedKeys(a.self.flows) {
		f := a.self.flows[id]
		if f.bound = bytes[id]; f.down.activeUntil > 0 {
			all = append(all, receiveBound{ends: f.ends, Bytes: f.bound})
		}
	}
	return all
}
