package scenario

import (
	"math/rand/v2"
	"slices"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/flow"
	"airtide/internal/share/message"
	"airtide/internal/tcp"
)

// Step decides for one terminal.
type Step func(now time.Duration, in control.Inputs) control.Outputs

// Cell is a cell in a closed loop, as a fluid: all queues wait in one place, and a terminal's rate
// is its windows over its round-trip time. That is far from a medium, but windows, rates, delays,
// probes and reports depend on each other as they do there.
type Cell struct {
	Now       time.Duration
	Terminals []*Terminal
	// WireBps is the capacity behind the access point, in bit/s, and ForeignPackets the window of a
	// sender without an agent.
	WireBps        float64
	ForeignPackets float64
	random         *rand.Rand
	loss           float64
	late           time.Duration
}

// Terminal is one terminal of a Cell.
type Terminal struct {
	Config control.Config
	Decide Step
	Last   control.Outputs
	In     control.Inputs // of the last step

	standalone float64 // bit/s
	base       time.Duration
	demand     float64 // bit/s; 0: unlimited
	single     bool
	told       bool // the radio tells its standalone rate
	away       bool
	hostile    bool
	flows      []*cellFlow
	peers      map[uint64]message.Peer
	pending    []pending
	reportAt   time.Duration
	stepAt     time.Duration
	lastStep   time.Duration
	roams      bool
}

type cellFlow struct {
	id      int
	receive bool
	window  float64 // packets
	growing float64 // what the sender's own window allows
	rate    float64 // bit/s
	rtt     time.Duration
	bits    float64
	sumRTT  time.Duration
	steps   int
	least   time.Duration
	full    bool
}

type pending struct {
	at   time.Duration
	peer message.Peer
}

const (
	cellTick      = 10 * time.Millisecond
	freeWindow    = 2000.0
	packetPayload = 1448 * 8.0
)

// NewCell makes a random cell. decide makes the step of a terminal.
func NewCell(seed uint64, begin time.Duration, decide func(number int, c control.Config) Step) *Cell {
	r := rand.New(rand.NewPCG(seed, 11))
	c := &Cell{Now: begin, random: r, WireBps: 1e9}
	switch r.IntN(4) {
	case 0:
		c.WireBps = 100e6
	case 1:
		c.WireBps = 20e6 + 100e6*r.Float64()
	}
	if r.IntN(4) == 0 {
		c.ForeignPackets = 300
	}
	c.loss, c.late = 0.2*r.Float64(), time.Duration(r.IntN(60))*time.Millisecond
	single := r.IntN(6) == 0
	base := []time.Duration{2 * time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond}[r.IntN(3)]
	n := 2 + r.IntN(5)
	for i := range n {
		t := &Terminal{
			standalone: 1e6 * float64(5+r.IntN(400)), base: base + time.Duration(r.IntN(5))*time.Millisecond,
			lastStep: begin, single: single, told: r.IntN(2) == 0, peers: map[uint64]message.Peer{},
			away: r.IntN(4) == 0, hostile: r.IntN(12) == 0,
		}
		t.Config = control.Config{
			Policy: control.Shares, Weight: 1, Session: uint64(10*i + 10), SingleFrames: single,
			BoundReceive: r.IntN(5) > 0,
		}
		if r.IntN(3) == 0 {
			t.Config.StandaloneBps = t.standalone
		}
		if r.IntN(16) == 0 {
			t.Config.Policy = control.Observe
		}
		if r.IntN(4) == 0 {
			t.demand = 1e6 * float64(1+r.IntN(20))
		}
		for k := range 1 + r.IntN(3) {
			t.flows = append(t.flows, &cellFlow{
				id: 100*i + k + 1, receive: r.IntN(4) == 0, window: freeWindow,
				growing: 10,
			})
		}
		t.stepAt = begin + time.Duration(r.IntN(100))*time.Millisecond
		t.Decide = decide(i, t.Config)
		c.Terminals = append(c.Terminals, t)
	}
	return c
}

// Run lets time pass.
func (c *Cell) Run(length time.Duration) {
	for end := c.Now + length; c.Now < end; {
		c.Now += cellTick
		c.disturb()
		c.carry()
		for _, t := range c.Terminals {
			t.peersArrive(c.Now)
			if c.Now >= t.stepAt || t.Last.NextProbe > 0 && c.Now >= t.Last.NextProbe && t.lastStep < t.Last.NextProbe {
				c.step(t)
			}
		}
	}
}

// disturb changes something now and then.
func (c *Cell) disturb() {
	r := c.random
	if r.IntN(1500) > 0 {
		return
	}
	t := c.Terminals[r.IntN(len(c.Terminals))]
	switch r.IntN(8) {
	case 0, 1:
		t.standalone *= 0.25 + 2*r.Float64()
	case 2:
		t.base = time.Duration(float64(t.base) * (0.4 + 2*r.Float64()))
	case 3:
		t.away = !t.away
	case 4:
		c.WireBps *= 0.3 + 1.5*r.Float64()
	case 5:
		if c.ForeignPackets > 0 {
			c.ForeignPackets = 0
		} else {
			c.ForeignPackets = 300
		}
	case 6:
		t.roams = true
	case 7:
		t.demand = 0
	}
}

// carry lets windows become rates for a tick: the delay of the queue is found for which the medium
// and the wire carry what the windows send.
func (c *Cell) carry() {
	const airtime = 0.9
	fits := func(queue time.Duration) bool {
		used, total := 0.0, 0.0
		for _, t := range c.Terminals {
			for _, f := range t.flows {
				rate := t.rateOf(f, queue)
				used += rate / t.standalone
				total += rate
			}
		}
		if c.ForeignPackets > 0 {
			rate := c.ForeignPackets * packetPayload / (5*time.Millisecond + queue).Seconds()
			used += rate / 200e6
			total += rate
		}
		return used <= airtime && total <= c.WireBps
	}
	low, high := time.Duration(0), 20*time.Second
	if !fits(low) {
		for range 20 {
			if middle := (low + high) / 2; fits(middle) {
				high = middle
			} else {
				low = middle
			}
		}
	} else {
		high = 0
	}
	for _, t := range c.Terminals {
		for _, f := range t.flows {
			f.rate = t.rateOf(f, high)
			f.rtt = t.base + high + time.Duration(c.random.IntN(400))*time.Microsecond
			f.bits += f.rate * cellTick.Seconds()
			f.full = t.demand == 0
			if f.rate > 0 {
				f.sumRTT += f.rtt
				f.steps++
				if f.least == 0 || f.rtt < f.least {
					f.least = f.rtt
				}
				f.growing = min(f.growing*(1+cellTick.Seconds()/f.rtt.Seconds()/4), freeWindow)
			}
		}
	}
}

// rateOf is a flow's rate if packets wait for so long.
func (t *Terminal) rateOf(f *cellFlow, queue time.Duration) float64 {
	if t.away {
		return 0
	}
	rate := min(f.window, f.growing) * packetPayload / (t.base + queue + time.Millisecond).Seconds()
	if t.demand > 0 {
		rate = min(rate, t.demand/float64(len(t.flows)))
	}
	return rate
}

func (t *Terminal) peersArrive(now time.Duration) {
	t.pending = slices.DeleteFunc(t.pending, func(p pending) bool {
		if p.at > now {
			return false
		}
		t.peers[p.peer.Report.Session] = p.peer
		return true
	})
}

func (c *Cell) step(t *Terminal) {
	elapsed := max(c.Now-t.lastStep, cellTick)
	t.lastStep = c.Now
	if c.Now >= t.stepAt {
		t.stepAt += 100 * time.Millisecond
	}
	in := control.Inputs{
		Ready: true, MayReportEarly: c.random.IntN(2) == 0, SilenceLimit: time.Second,
		NewAccessPoint: t.roams,
	}
	t.roams = false
	if t.told {
		in.Radio = control.Radio{PHYBps: t.standalone * 1.5, StandaloneBps: t.standalone, SingleFrames: t.single}
	}
	for _, f := range t.flows {
		in.Flows = append(in.Flows, f.sample(t, elapsed, &in.Host))
	}
	newest := time.Duration(0)
	for session, p := range t.peers {
		if c.Now-time.Duration(p.HeardNs) > 3*time.Second {
			delete(t.peers, session)
			continue
		}
		newest = max(newest, time.Duration(p.HeardNs))
		in.Peers = append(in.Peers, p)
	}
	slices.SortFunc(in.Peers, func(a, b message.Peer) int { return int(a.Report.Session) - int(b.Report.Session) })
	in.Silence = c.Now - newest
	t.In = in
	t.Last = t.Decide(c.Now, in)
	t.apply()
	if c.Now >= t.reportAt || t.Last.ReportNow {
		t.reportAt = c.Now + 200*time.Millisecond
		c.tell(t)
	}
}

// sample is what a flow did since the last step.
func (f *cellFlow) sample(t *Terminal, elapsed time.Duration, host *flow.HostSample) flow.Sample {
	rate := f.bits / elapsed.Seconds()
	s := flow.Sample{
		ID: tcp.FlowID(f.id), Local: Address(int(t.Config.Session)), Remote: Address(5000 + f.id),
		MSS: 1448, MinRTT: t.base,
	}
	mean := time.Duration(0)
	if f.steps > 0 {
		mean = f.sumRTT / time.Duration(f.steps)
	}
	if f.receive {
		s.ReceiveRate, s.ReceiverRTT = rate, mean
		if t.Config.BoundReceive && f.full && mean > 0 {
			s.ReceiveWindow = flow.WindowSample{MeanRTT: mean, LeastRTT: f.least, InUse: 1}
		}
		host.ReceiveRate += rate
	} else {
		s.SendRate, s.MeanRTT, s.LeastRTT, s.Greedy = rate, mean, f.least, f.full && rate > 0
		host.SendRate += rate
		host.MeanRTT, host.RTT95 = mean, mean*5/4
	}
	f.bits, f.sumRTT, f.steps, f.least = 0, 0, 0, 0
	return s
}

// apply sets the windows of a terminal's flows to the bounds.
func (t *Terminal) apply() {
	for _, f := range t.flows {
		f.window = freeWindow
		for _, b := range t.Last.Send {
			if !f.receive && b.Remote == Address(5000+f.id) {
				f.window = float64(b.Packets)
				if b.Pause {
					f.window = 1
				}
				f.growing = max(f.growing, float64(b.Least))
			}
		}
		for _, b := range t.Last.Receive {
			if f.receive && b.Bytes > 0 && b.Remote == Address(5000+f.id) {
				f.window = float64(b.Bytes) / 1448
			}
		}
	}
}

// tell sends a terminal's report to all others.
func (c *Cell) tell(t *Terminal) {
	r := t.Last.Report
	r.Session, r.PeriodMs, r.Probe = t.Config.Session, 200, t.Last.Probe.At(c.Now)
	if t.hostile {
		r.MaxKbps, r.ApplicationLimited = 1_000_000, false
		r.ForeignQueues = c.random.IntN(3) == 0
		if c.random.IntN(4) == 0 {
			r.Probe = message.ProbeIn(message.ProbeKind(1+c.random.IntN(3)), 0, 800*time.Millisecond)
		}
	}
	for _, o := range c.Terminals {
		if o == t || c.random.Float64() < c.loss {
			continue
		}
		at := c.Now + time.Duration(c.random.Int64N(int64(c.late)+int64(time.Millisecond)))
		o.pending = append(o.pending, pending{at, message.Peer{
			Source: Address(int(t.Config.Session)), Report: r,
			HeardNs: int64(at),
		}})
	}
}
