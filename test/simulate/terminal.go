package simulate

import (
	"math/rand/v2"
	"net/netip"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/flow"
	"airtide/internal/share/message"
	"airtide/internal/tcp"
)

// terminal is a terminal with its agent: it does in virtual time what package share's agent does.
type terminal struct {
	Terminal
	cell     *Cell
	number   int
	receiver *message.Receiver // nil while it does not participate
	sender   *message.Sender
	core     *control.Core
	watch    func(now time.Duration, in control.Inputs, out control.Outputs) // may be nil

	flows   []terminalFlow
	bits    float64 // since the last State
	rttBits float64 // bits times RTT in seconds, since the last State
	drained time.Duration
	peers   []message.Peer
	out     control.Outputs
	share   float64       // the last one that was in force, in bit/s
	boundAt time.Duration // when bounds were in force for the last time
	probeAt time.Duration // when a step is due for a probe
	reports int           // counts the timers for reports: only the newest counts
	sending bool
	away    bool
}

// terminalFlow is a flow of a terminal.
type terminalFlow struct {
	Flow
	leastRTT time.Duration
}

// Limits of silence, as in package share.
const (
	minSilenceLimit = time.Second
	silenceGaps     = 4
)

// freeWindow is a window without bound, in packets: what the greatest send buffer of Linux, 4 MiB,
// holds.
const freeWindow = 2800

func (t *terminal) join() {
	c := t.cell
	t.drained = c.now
	t.away = false
	c.at(max(c.now, t.Sends), func() {
		t.sending = !t.away
		t.applyWindows()
	})
	if t.NoAgent {
		c.at(c.now+t.stepEvery(), t.drainEvery)
		return
	}
	now := int64(c.now)
	t.receiver = message.NewReceiver(message.Config{
		Key: c.key, Link: t.link(), Random: rand.NewPCG(c.config.Seed, uint64(t.number)+2),
	}, now)
	t.sender = message.NewSender(t.receiver, now)
	config := control.Config{
		Policy: control.Shares, Weight: t.weight(), StandaloneBps: t.configured(), BoundReceive: true,
		SingleFrames: t.SingleFrames, Session: t.receiver.Session(),
	}
	if c.config.Change != nil {
		c.config.Change(&config)
	}
	t.core = control.New(config)
	if c.config.Watch != nil {
		t.watch = c.config.Watch(t.number, config)
	}
	t.out = control.Outputs{Report: t.core.FirstReport(t.radio())}
	t.scheduleReport()
	// Agents do not step at the same moment.
	c.at(c.now+time.Duration(c.random.Int64N(int64(t.stepEvery()))), t.stepPeriodically)
}

func (t *terminal) weight() float64 {
	if t.Weight == 0 {
		return 1
	}
	return t.Weight
}

// configured is the standalone rate in the agent's configuration; 0 is none.
func (t *terminal) configured() float64 {
	if t.Radio != nil {
		return 0
	}
	return t.Standalone
}

// standalone is its present rate alone, in bit/s.
func (t *terminal) standalone() float64 {
	if t.StandaloneAt != nil {
		return t.StandaloneAt(t.cell.now)
	}
	return t.Standalone
}

func (t *terminal) radio() control.Radio {
	if t.Radio == nil {
		return control.Radio{}
	}
	return t.Radio(t.cell.now)
}

func (t *terminal) leave() {
	if t.receiver != nil {
		r := t.out.Report
		r.State = message.Leaving
		t.seal(r)
	}
	t.vanish()
}

// vanish ends everything that it does, without a report.
func (t *terminal) vanish() {
	t.sending = false
	t.receiver = nil
	t.away = true
	t.out = control.Outputs{Reason: "away"}
	t.applyWindows()
}

func (t *terminal) stepEvery() time.Duration {
	if t.StepEvery > 0 {
		return t.StepEvery
	}
	return t.cell.config.StepEvery
}

// link says how reports cross the cell, as package share's agent does: at the rate of the slowest
// terminal.
func (t *terminal) link() message.Link {
	l := message.Link{MulticastKbps: t.cell.config.MulticastKbps, DataKbps: message.RateOf(t.standalone())}
	for i := range t.peers {
		if m := t.peers[i].Report.MaxKbps; m > 0 && m < l.DataKbps {
			l.DataKbps = m
		}
	}
	return l
}

// receive takes a datagram.
func (t *terminal) receive(from netip.AddrPort, datagram []byte, at time.Duration) {
	if t.receiver != nil {
		t.cell.config.Measure(t.number, func() { t.receiver.Take(from, datagram, int64(at)) })
	}
}

// scheduleReport sends a report if one is due, and sets the timer for the next.
func (t *terminal) scheduleReport() {
	now := int64(t.cell.now)
	if t.sender.DueNs(now) <= now {
		r := t.out.Report
		r.Probe = t.out.Probe.At(t.cell.now)
		if t.Claims != nil {
			t.Claims(&r)
		}
		t.seal(r)
	}
	t.reports++
	number := t.reports
	t.cell.at(max(time.Duration(t.sender.DueNs(now)), t.cell.now+time.Millisecond), func() {
		if t.receiver != nil && number == t.reports {
			t.scheduleReport()
		}
	})
}

func (t *terminal) seal(r message.Report) {
	var err error
	var datagram []byte
	t.cell.config.Measure(t.number, func() { datagram, err = t.sender.Seal(nil, r, int64(t.cell.now)) })
	if err != nil {
		panic(err) // the report is beyond its limits: a mistake of this package
	}
	link := t.link()
	t.cell.send(t.number, datagram, time.Duration(link.ReportNs(len(datagram))))
}

// drainEvery counts what a terminal without an agent carries.
func (t *terminal) drainEvery() {
	if !t.away {
		t.samples(new(flow.HostSample))
		t.cell.at(t.cell.now+t.stepEvery(), t.drainEvery)
	}
}

// samples returns the progress of all flows since the last call.
func (t *terminal) samples(host *flow.HostSample) []flow.Sample {
	elapsed := max(t.cell.now-t.drained, time.Millisecond).Seconds()
	t.drained = t.cell.now
	all := make([]flow.Sample, 0, len(t.flows))
	rttRates := 0.0
	for i := range t.flows {
		f := &t.flows[i]
		p := t.cell.config.Air.Drain(f.Number)
		t.bits += p.Bits
		t.rttBits += p.Bits * p.MeanRTT.Seconds()
		if p.LeastRTT > 0 && (f.leastRTT == 0 || p.LeastRTT < f.leastRTT) {
			f.leastRTT = p.LeastRTT
		}
		if !t.sending {
			continue
		}
		rate := p.Bits / elapsed
		s := flow.Sample{
			ID: tcp.FlowID(f.Number + 1), Local: Address(t.number), Remote: serverAddress(f.Number),
			MSS: payloadBytes, MinRTT: f.leastRTT,
		}
		if f.Download {
			s.ReceiveRate = rate
			s.ReceiveLost = p.Lost
			s.ReceiverRTT = p.MeanRTT
			s.ReceiveWindow = flow.WindowSample{MeanRTT: p.MeanRTT, LeastRTT: p.LeastRTT}
			if p.Limited {
				s.ReceiveWindow.InUse = 1
			}
			host.ReceiveRate += rate
		} else {
			s.SendRate = rate
			s.SendLost = p.Lost
			s.MeanRTT = p.MeanRTT
			s.LeastRTT = p.LeastRTT
			s.Greedy = p.Limited
			host.SendRate += rate
			rttRates += rate * p.MeanRTT.Seconds()
			host.RTT95 = max(host.RTT95, p.MeanRTT)
		}
		all = append(all, s)
	}
	if host.SendRate > 0 {
		host.MeanRTT = time.Duration(rttRates / host.SendRate * float64(time.Second))
	}
	return all
}

// serverAddress is the other end of a flow.
func serverAddress(flow int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), uint16(flow+1))
}

func (t *terminal) stepPeriodically() {
	if t.receiver != nil {
		t.step()
		t.cell.at(t.cell.now+t.stepEvery(), t.stepPeriodically)
	}
}

// step decides once, and applies the outputs.
func (t *terminal) step() {
	c := t.cell
	in := control.Inputs{Ready: true, Radio: t.radio()}
	in.Flows = t.samples(&in.Host)
	c.config.Measure(t.number, func() {
		now := int64(c.now)
		t.peers = t.receiver.Peers(t.peers[:0], now)
		t.receiver.SetLink(t.link())
		newest := int64(0)
		for i := range t.peers {
			newest = max(newest, t.peers[i].HeardNs)
		}
		in.Peers = t.peers
		in.Silence = c.now - time.Duration(newest)
		in.SilenceLimit = max(minSilenceLimit, silenceGaps*time.Duration(t.receiver.MeanGapNs(0)))
		in.MayReportEarly = t.sender.MaySendEarly()
		t.out = t.core.Step(c.now, in)
	})
	if t.watch != nil {
		t.watch(c.now, in, t.out)
	}
	if t.out.Reason == "" {
		t.share = t.out.View.ShareBps
		t.boundAt = c.now
	}
	c.notices = append(c.notices, t.out.Notices...)
	t.applyWindows()
	if t.out.ReportNow {
		t.sender.SendEarly()
		t.scheduleReport()
	}
	if at := t.out.NextProbe; at > c.now && at != t.probeAt {
		t.probeAt = at
		c.at(at, func() {
			if t.receiver != nil && t.probeAt == at {
				t.step()
			}
		})
	}
}

// applyWindows sets the windows of all flows to the bounds of the last step.
func (t *terminal) applyWindows() {
	for i := range t.flows {
		w := Window{}
		if t.sending {
			w = t.window(&t.flows[i])
		}
		t.cell.config.Air.SetWindow(t.flows[i].Number, w)
	}
}

func (t *terminal) window(f *terminalFlow) Window {
	remote := serverAddress(f.Number)
	for _, b := range t.out.Send {
		if !f.Download && b.Remote == remote {
			return Window{Packets: int(min(b.Packets, freeWindow)), Least: int(min(b.Least, freeWindow))}
		}
	}
	for _, b := range t.out.Receive {
		if f.Download && b.Remote == remote && b.Bytes > 0 {
			return Window{Packets: int(min(max(b.Bytes/payloadBytes, 1), freeWindow))}
		}
	}
	return Window{Packets: freeWindow}
}

// bounded reports whether windows are bounded. In a release probe the share still counts.
func (t *terminal) bounded() bool {
	const releaseProbe = 5 * time.Second
	inProbe := t.out.View.Probe == message.ReleaseProbe && t.boundAt > 0 && t.cell.now-t.boundAt <= releaseProbe
	return t.receiver != nil && (t.out.Reason == "" && t.share > 0 || inProbe)
}

// report is this terminal as its honest report shows it.
func (t *terminal) report() control.Terminal {
	return control.TerminalOf(&message.Peer{Source: Address(t.number), Report: t.out.Report})
}
