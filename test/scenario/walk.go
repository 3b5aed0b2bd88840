package scenario

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"airtide/internal/share/allocate"
	"airtide/internal/share/control"
	"airtide/internal/share/flow"
	"airtide/internal/share/message"
	"airtide/internal/tcp"
)

// Walk makes random inputs: rates and round-trip times wander and jump, flows and peers come and
// go.
type Walk struct {
	Now     time.Duration
	random  *rand.Rand
	flows   []flow.Sample
	peers   []message.Peer
	nextID  int
	radio   control.Radio
	session uint64
}

// NewWalk begins a walk at a time. It returns the configuration of the core that it is for.
func NewWalk(seed uint64, begin time.Duration) (*Walk, control.Config) {
	w := &Walk{Now: begin, random: rand.New(rand.NewPCG(seed, 7)), session: 50}
	r := w.random
	c := control.Config{Policy: control.Shares, Weight: 1, Session: w.session, BoundReceive: r.IntN(4) > 0}
	switch r.IntN(8) {
	case 0:
		c.Policy = control.EqualCapPolicy
		c.CapacityBps = 100e6
	case 1:
		c.Policy = control.Observe
	}
	if r.IntN(2) == 0 {
		c.StandaloneBps = 1e6 * float64(1+r.IntN(900))
	}
	if r.IntN(4) == 0 {
		alphas := []float64{allocate.TotalFirst, 0.5, 2}
		alpha := alphas[r.IntN(len(alphas))]
		c.Options.Alpha = &alpha
	}
	c.SingleFrames = r.IntN(8) == 0
	if r.IntN(8) == 0 {
		c.Options.MinQueue = 20 * time.Millisecond
	}
	return w, c
}

// Address is an address by its number.
func Address(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 1)
}

// wander changes a number by up to a fifth, now and then by far more, and to 0.
func (w *Walk) wander(x, low, high float64) float64 {
	switch w.random.IntN(60) {
	case 0:
		return 0
	case 1:
		return low + (high-low)*w.random.Float64()
	}
	if x == 0 && w.random.IntN(4) == 0 {
		return low
	}
	return min(max(x*(0.8+0.4*w.random.Float64()), 0), high)
}

func (w *Walk) wanderTime(t time.Duration, high time.Duration) time.Duration {
	return time.Duration(w.wander(float64(t), float64(time.Millisecond), float64(high)))
}

// Step returns the inputs of the next step.
func (w *Walk) Step() control.Inputs {
	r := w.random
	step := 100 * time.Millisecond
	switch r.IntN(30) {
	case 0:
		step = time.Millisecond
	case 1:
		step = time.Duration(r.IntN(3000)) * time.Millisecond
	}
	w.Now += step
	w.changeFlows()
	w.changePeers()
	in := control.Inputs{
		Flows: slices.Clone(w.flows), Peers: slices.Clone(w.peers), Ready: true, MayReportEarly: r.IntN(3) > 0,
		Silence: time.Duration(r.IntN(500)) * time.Millisecond, SilenceLimit: time.Second,
		NewAccessPoint: r.IntN(1500) == 0,
	}
	if r.IntN(200) == 0 {
		in.Silence = 3 * time.Second
	}
	if r.IntN(100) == 0 {
		w.radio = control.Radio{PHYBps: 1e6 * float64(r.IntN(800)), SingleFrames: r.IntN(3) == 0}
		if r.IntN(2) == 0 {
			w.radio.StandaloneBps = 0.7 * w.radio.PHYBps
		}
	}
	in.Radio = w.radio
	h := &in.Host
	for _, f := range in.Flows {
		h.SendRate += f.SendRate
		h.ReceiveRate += f.ReceiveRate
		h.RTT95 = max(h.RTT95, f.MeanRTT*2)
		h.MeanRTT = max(h.MeanRTT, f.MeanRTT)
	}
	h.QueuedBytes = int64(r.IntN(1e6))
	h.Retransmits = int64(r.IntN(3))
	h.Errors[tcp.CodeReordering] = int64(r.IntN(2))
	r.Shuffle(len(in.Flows), func(i, j int) { in.Flows[i], in.Flows[j] = in.Flows[j], in.Flows[i] })
	return in
}

func (w *Walk) changeFlows() {
	r := w.random
	if len(w.flows) < 40 && r.IntN(20) == 0 || len(w.flows) == 0 && r.IntN(5) == 0 {
		w.nextID++
		w.flows = append(w.flows, flow.Sample{
			ID: tcp.FlowID(w.nextID), Local: Address(1), Remote: Address(1000 + w.nextID),
			MSS: 1448, MinRTT: time.Duration(r.IntN(30)) * time.Millisecond,
		})
	}
	w.flows = slices.DeleteFunc(w.flows, func(flow.Sample) bool { return r.IntN(400) == 0 })
	for i := range w.flows {
		f := &w.flows[i]
		f.SendRate = w.wander(f.SendRate, 1e5, 500e6)
		f.ReceiveRate = w.wander(f.ReceiveRate, 1e5, 500e6)
		if i%3 == 0 {
			f.ReceiveRate = 0
		}
		f.Greedy = r.IntN(4) > 0
		f.MeanRTT = w.wanderTime(f.MeanRTT, 300*time.Millisecond)
		f.LeastRTT = time.Duration(float64(f.MeanRTT) * (0.5 + 0.5*r.Float64()))
		f.ReceiverRTT = w.wanderTime(f.ReceiverRTT, 300*time.Millisecond)
		if f.ReceiveRate > 0 {
			f.ReceiveWindow = flow.WindowSample{
				MeanRTT: w.wanderTime(f.ReceiveWindow.MeanRTT, 300*time.Millisecond), InUse: r.Float64(),
			}
			f.ReceiveWindow.LeastRTT = f.ReceiveWindow.MeanRTT / 2
		}
	}
}

func (w *Walk) changePeers() {
	r := w.random
	most := 6
	if r.IntN(40) == 0 {
		most = 64
	}
	if len(w.peers) < most && r.IntN(10) == 0 || len(w.peers) == 0 && r.IntN(3) == 0 {
		session := uint64(1 + r.IntN(200))
		known := slices.ContainsFunc(w.peers, func(p message.Peer) bool { return p.Report.Session == session })
		if session != w.session && !known {
			w.peers = append(w.peers, message.Peer{
				Source: Address(int(session)), HeardNs: int64(w.Now),
				Report: message.Report{
					Session: session, State: message.Controlling, PeriodMs: 200, Weight: 1000,
					MaxKbps: message.Rate(1000 * (1 + r.IntN(900))), MaxSource: message.Source(1 + r.IntN(2)),
				},
			})
			slices.SortFunc(w.peers,
				func(a, b message.Peer) int { return int(a.Report.Session) - int(b.Report.Session) })
		}
	}
	w.peers = slices.DeleteFunc(w.peers, func(message.Peer) bool { return r.IntN(600) == 0 })
	for i := range w.peers {
		if r.IntN(2) == 0 {
			w.report(&w.peers[i])
		}
	}
}

// report gives a peer a new report.
func (w *Walk) report(p *message.Peer) {
	r := w.random
	m := &p.Report
	p.HeardNs = int64(w.Now) - int64(r.IntN(20))*1e6
	m.UploadKbps = message.Rate(w.wander(float64(m.UploadKbps), 100, 500_000))
	m.DownloadKbps = message.Rate(w.wander(float64(m.DownloadKbps), 100, 500_000))
	if r.IntN(2) == 0 {
		m.DownloadKbps = 0
	}
	m.MinRTTUs = uint32(w.wander(float64(m.MinRTTUs), 1000, 100_000))
	m.SmoothedRTTUs = m.MinRTTUs + uint32(r.IntN(60_000))
	m.ForeignQueues = r.IntN(30) == 0
	m.ApplicationLimited = r.IntN(4) == 0
	m.DemandKbps = m.UploadKbps + m.DownloadKbps
	switch r.IntN(300) {
	case 0:
		m.State = message.State(r.IntN(3))
	case 1:
		m.State = message.Controlling
	case 2:
		m.MaxKbps = message.Rate(1000 * r.IntN(900))
	case 3:
		m.PeriodMs = uint32(100 + r.IntN(3000))
	case 4:
		m.MaxKbps = 0
	case 5:
		m.SingleFrames = !m.SingleFrames
	}
	m.Probe = message.Probe{}
	if r.IntN(25) == 0 {
		kind := message.ProbeKind(1 + r.IntN(2))
		m.Probe = message.ProbeIn(kind, time.Duration(r.IntN(1500))*time.Millisecond,
			time.Duration(r.IntN(10))*message.ProbeLengthStep)
	}
}
