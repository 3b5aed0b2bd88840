// Package oracle is a frozen copy of the sharing agent's decisions as they were before
// control.Core. Tests compare the two step by step.
package oracle

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	core "airtide/internal/share/control"
	"airtide/internal/share/message"
	"airtide/internal/share/probe"
	"airtide/internal/tcp"
	"airtide/test/oracle/control"
)

// What the agent had of other packages.
type (
	ends       struct{ Local, Remote netip.AddrPort }
	windowSeen struct {
		RTT, MinRTT time.Duration
		InUse       float64
	}
	receiveBound struct {
		ends
		Bytes uint32
	}
	sendBound = core.SendBound
	ownState  struct {
		Up, Down    float64
		RTT, RTT95  time.Duration
		QueuedBytes int64
		Retransmits int64
		Errors      [tcp.NumErrorCodes]int64
		Flows       []ownFlow
	}
	ownFlow struct {
		*tcp.Flow
		Up, Down                   float64
		Greedy                     bool
		MinRTT                     time.Duration
		MSS                        int
		RTT, LeastRTT, ReceiverRTT time.Duration
	}
	status struct {
		Held                            bool
		ShareBps, TotalBps, CapacityBps float64
		Limit                           string
		QueueTargetUs                   int64
		Correction                      float64
		Turn                            message.ProbeKind
		Foreign                         bool
		Effect                          *control.Effect
	}
	sender struct{ may, hurried bool }
)

func (s *sender) MaySendEarly() bool { return s.may }
func (s *sender) SendEarly()         { s.hurried = s.may }

type config struct {
	Policy       control.Policy
	CapacityBps  float64
	SingleFrames bool
	Control      control.Options
	Notice       func(string)
}

type agent struct {
	config   config
	sender   sender
	control  *control.Controller
	self     self
	balance  control.Balance
	decision control.Decision
	decided  time.Duration
	idleAt   time.Duration
	since    time.Duration
	patience time.Duration
	session  uint64
	together together
	peers    []message.Peer
	status   status
}

// Oracle decides as the agent did.
type Oracle struct {
	agent   agent
	config  core.Config
	notices []string
}

// New makes one.
func New(c core.Config) *Oracle {
	o := &Oracle{config: c}
	options := control.Options{Alpha: c.Options.Alpha, MinQueue: c.Options.MinQueue, MaxQueue: c.Options.MaxQueue}
	o.agent = agent{
		config: config{
			Policy: control.Policy(c.Policy), CapacityBps: c.CapacityBps, SingleFrames: c.SingleFrames, Control: options,
			Notice: func(line string) { o.notices = append(o.notices, line) },
		},
		control: control.New(options), session: c.Session,
		self:     self{maximum: c.StandaloneBps, single: c.SingleFrames, weight: c.Weight, flows: map[tcp.FlowID]*flow{}},
		together: together{turns: control.NewTurns(c.Session)},
	}
	return o
}

// Step is what agent.step did, without input and output.
func (o *Oracle) Step(now time.Duration, in core.Inputs) (out core.Outputs) {
	a := &o.agent
	o.notices = nil
	a.self.phy, a.self.byPHY, a.self.single = in.Radio.PHYBps, in.Radio.StandaloneBps, in.Radio.SingleFrames || a.config.SingleFrames
	if in.NewAccessPoint {
		a.control, a.balance, a.decision = control.New(a.config.Control), control.Balance{}, control.Decision{}
		a.together = together{turns: control.NewTurns(a.session)}
		a.self.forget()
	}
	host := in.Host
	state := ownState{
		Up: host.SendRate, Down: host.ReceiveRate, RTT: host.MeanRTT, RTT95: host.RTT95,
		QueuedBytes: host.QueuedBytes, Retransmits: host.Retransmits, Errors: host.Errors,
	}
	var seen []windowSeen
	for _, s := range in.Flows {
		state.Flows = append(state.Flows, ownFlow{
			Flow: &tcp.Flow{ID: s.ID, Local: s.Local, Remote: s.Remote}, Up: s.SendRate, Down: s.ReceiveRate, Greedy: s.Greedy, MinRTT: s.MinRTT,
			MSS: s.MSS, RTT: s.MeanRTT, LeastRTT: s.LeastRTT, ReceiverRTT: s.ReceiverRTT,
		})
		seen = append(seen, windowSeen{s.ReceiveWindow.MeanRTT, s.ReceiveWindow.LeastRTT, s.ReceiveWindow.InUse})
	}
	a.self.take(now, state, seen)
	a.peers = append(a.peers[:0], in.Peers...)
	a.patience = in.SilenceLimit
	a.sender = sender{may: in.MayReportEarly}
	if in.Ready {
		o.decide(now, in, &out)
	}
	out.Report = a.self.report(a.state(), a.keeps())
	out.Probe = probe.Proposal(a.together.turns.Announced(now))
	out.NextProbe, _ = a.together.turns.Next(now)
	out.ReportNow = a.sender.hurried
	out.Notices = o.notices
	return out
}

func (o *Oracle) decide(now time.Duration, in core.Inputs, out *core.Outputs) {
	a, v := &o.agent, &out.View
	a.together.hears(now, a)
	v.Probe, v.ForeignQueues = a.together.phase.Kind, a.together.foreign(&a.self)
	if e := a.together.effect; e != nil {
		v.Benefit = &core.Benefit{With: core.CellMean(e.With), Without: core.CellMean(e.Without), Least: e.Least, At: e.At}
	}
	bounds, why := a.decide(now, in.Silence)
	if a.config.Policy == control.Observe {
		bounds, why = noBounds, "this terminal only observes"
	}
	out.Send = append(out.Send, bounds.up...)
	if o.config.BoundReceive {
		for _, b := range a.receiveBounds(bounds.down) {
			out.Receive = append(out.Receive, core.ReceiveBound{Local: b.Local, Remote: b.Remote, Bytes: b.Bytes})
		}
	}
	s := &a.status
	s.Held = why == ""
	out.Reason = why
	v.ShareBps, v.TotalBps, v.WireBps, v.Limit, v.QueueTargetUs, v.Correction = s.ShareBps, s.TotalBps, s.CapacityBps, s.Limit, s.QueueTargetUs, s.Correction
	for _, id := range sortedKeys(bounds.down) {
		if !o.config.BoundReceive {
			break // F2, mended after the copy was made
		}
		f := a.self.flows[id]
		v.Receive = append(v.Receive, core.ReceiveBound{Local: f.ends.Local, Remote: f.ends.Remote, Bytes: bounds.down[id]})
	}
}

func (a *agent) state() message.State {
	switch {
	case a.config.Policy == control.Observe:
		return message.Observing
	case a.status.Held:
		return message.Controlling
	}
	return message.LetGo
}

func (a *agent) keeps() float64 {
	if !a.status.Held {
		return 0
	}
	return a.status.ShareBps
}

func sortedKeys[V any](m map[tcp.FlowID]V) (ids []tcp.FlowID) {
	for id := range m {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b tcp.FlowID) int { return cmp.Compare(a, b) })
	return ids
}
