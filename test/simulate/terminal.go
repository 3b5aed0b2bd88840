package simulate

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"time"

	"airtide/internal/share/allocate"
	"airtide/internal/share/control"
	"airtide/internal/share/message"
)

// terminal is one with its agent: what package share's agent does around messages and control,
// without sockets.
type terminal struct {
	Terminal
	cell     *Cell
	number   int
	receiver *message.Receiver // nil while it takes no part
	sender   *message.Sender
	control  *control.Controller

	rate        float64 // bit/s, smoothed
	bits        float64 // since the last State
	minRTT, rtt time.Duration
	last        time.Duration
	peers       []message.Peer
	all         []control.Terminal
	decision    control.Decision
	held        bool
	sending     bool
	away        bool
}

// What agents go by (package share).
const (
	rateTime = 300 * time.Millisecond
	silence  = time.Second
)

const (
	// freeWindow is a window without bound, in packets: what a socket's buffers let a sender have
	// on its way.
	freeWindow = 1000
	// headroom is by how much a terminal with a demand asks for more than it sends.
	headroom   = 1.25
	packetBits = 8 * 1500
)

func (t *terminal) join() {
	t.last, t.away = t.cell.now, false
	t.cell.at(max(t.cell.now, t.Sends), func() {
		t.sending = !t.away
		t.allow(freeWindow)
	})
	if t.Apart {
		t.cell.at(t.cell.now+t.every(), t.look)
		return
	}
	now := int64(t.cell.now)
	t.receiver = message.NewReceiver(message.Config{
		Key: t.cell.key, Link: t.link(), Random: rand.NewPCG(t.cell.config.Seed, uint64(t.number)+2),
	}, now)
	t.sender = message.NewSender(t.receiver, now)
	t.control = control.NewController(control.Options{})
	t.cell.at(time.Duration(t.sender.DueNs(now)), t.tell)
	// Agents do not decide at the same moment.
	t.cell.at(t.cell.now+time.Duration(t.cell.random.Int64N(int64(t.every()))), t.step)
}

func (t *terminal) leave() {
	if t.receiver != nil {
		t.seal(message.Leaving)
	}
	t.vanish()
}

// vanish ends all that it does.
func (t *terminal) vanish() {
	t.sending, t.receiver, t.held, t.away = false, nil, false, true
	t.allow(0)
}

// allow lets it have so many packets on their way if it sends.
func (t *terminal) allow(window int) {
	if !t.sending {
		window = 0
	}
	t.cell.config.Air.Allow(t.number, window)
}

func (t *terminal) every() time.Duration {
	if t.Every > 0 {
		return t.Every
	}
	return t.cell.config.Every
}

// link is as package share's agent has it: all frames at what the slowest terminal reaches alone.
func (t *terminal) link() message.Link {
	l := message.Link{BasicKbps: t.cell.config.Basic, DataKbps: message.RateOf(t.Max)}
	for _, p := range t.peers {
		if m := p.Report.MaxKbps; m > 0 && m < l.DataKbps {
			l.DataKbps = m
		}
	}
	return l
}

// hear takes a datagram in.
func (t *terminal) hear(from netip.AddrPort, datagram []byte, at time.Duration) {
	if t.receiver != nil {
		t.cell.config.Around(t.number, func() { t.receiver.Receive(from, datagram, int64(at)) })
	}
}

// tell sends a report when one is due.
func (t *terminal) tell() {
	if t.receiver == nil {
		return
	}
	now := int64(t.cell.now)
	if t.sender.DueNs(now) <= now {
		state := message.LetGo
		if t.held {
			state = message.Controlling
		}
		t.seal(state)
	}
	t.cell.at(max(time.Duration(t.sender.DueNs(now)), t.cell.now+time.Millisecond), t.tell)
}

func (t *terminal) seal(state message.State) {
	r := t.report(state)
	var err error
	var datagram []byte
	t.cell.config.Around(t.number, func() { datagram, err = t.sender.Seal(nil, r, int64(t.cell.now)) })
	if err != nil {
		panic(err) // a report that is beyond its limits: this package's mistake
	}
	link := t.link()
	t.cell.say(t.number, datagram, time.Duration(link.ReportNs(len(datagram))))
}

// report is what it says of itself.
func (t *terminal) report(state message.State) message.Report {
	own := t.own()
	r := message.Report{
		State: state, MaxKbps: message.RateOf(own.Max), MaxSource: message.Configured, DeliveryKbps: message.RateOf(own.Rate),
		UploadKbps: message.RateOf(own.Rate), Weight: uint16(1000 * own.Weight), FlowsUp: 1,
		MinRTTUs: message.Microseconds(own.MinRTT), SmoothedRTTUs: message.Microseconds(own.RTT),
	}
	if t.held {
		r.BoundKbps = message.RateOf(t.decision.Share)
	}
	if !math.IsInf(own.Demand, 1) {
		r.ApplicationLimited, r.DemandKbps = true, message.RateOf(own.Demand)
	}
	if t.Claims != nil {
		t.Claims(&r)
	}
	return r
}

// own is itself among the terminals.
func (t *terminal) own() control.Terminal {
	c := control.Terminal{Max: t.Max, Rate: t.rate, Demand: allocate.Unlimited, Weight: t.Weight, MinRTT: t.minRTT, RTT: t.rtt}
	if c.Weight == 0 {
		c.Weight = 1
	}
	switch {
	case !t.sending:
		c.Demand = 0
	case t.Demand > 0:
		c.Demand = headroom * t.Demand
	}
	return c
}

// look takes in what became of its packets.
func (t *terminal) look() {
	if t.away {
		return
	}
	passed := t.cell.config.Air.Take(t.number)
	t.bits += passed.Bits
	since := t.cell.now - t.last
	t.last = t.cell.now
	if since > 0 {
		t.rate += (1 - math.Exp(-since.Seconds()/rateTime.Seconds())) * (passed.Bits/since.Seconds() - t.rate)
	}
	if passed.RTT > 0 {
		t.rtt = passed.RTT
	}
	if passed.MinRTT > 0 && (t.minRTT == 0 || passed.MinRTT < t.minRTT) {
		t.minRTT = passed.MinRTT
	}
	if t.Apart {
		t.cell.at(t.cell.now+t.every(), t.look)
	}
}

// step decides anew.
func (t *terminal) step() {
	if t.receiver == nil {
		return
	}
	t.look()
	window := freeWindow
	t.cell.config.Around(t.number, func() {
		if t.decide() {
			window = int(min(max(t.decision.Window(1, t.minRTT)*8/packetBits, control.LeastWindow), freeWindow))
		}
	})
	t.allow(window)
	t.cell.at(t.cell.now+t.every(), t.step)
}

// decide says whether there is a bound.
func (t *terminal) decide() bool {
	now := int64(t.cell.now)
	t.peers = t.receiver.Peers(t.peers[:0], now)
	t.receiver.SetLink(t.link())
	t.held = len(t.peers) > 0 && t.cell.now-time.Duration(t.receiver.AcceptedNs()) <= silence
	if !t.held {
		return false
	}
	t.all = append(t.all[:0], t.own())
	for i := range t.peers {
		t.all = append(t.all, control.TerminalOf(&t.peers[i]))
	}
	d, err := t.control.Step(t.cell.now, 0, t.all)
	if err != nil {
		t.held = false
		return false
	}
	t.decision = d
	return t.minRTT > 0
}
