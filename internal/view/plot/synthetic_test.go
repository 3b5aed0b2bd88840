package plot

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"

	"airtide/internal/tcp"
)

// synthetic is a made-up connection over a bottleneck, good enough to look like one: CUBIC's
// sawtooth with losses when the queue is full, and at given times a timeout, a full local queue and
// reordering.
type synthetic struct {
	id          tcp.FlowID
	start, end  float64 // seconds
	mbit        float64 // bottleneck
	rttMs       float64 // RTT without queue
	buffer      float64 // packets
	timeoutAt   float64 // seconds, 0 for never
	reorderAt   float64
	localAt     float64
	remote, own string
	receives    bool
	bbr         bool
	air         bool // with data of the radio that carries it
}

const (
	mss    = 1448
	origin = int64(5_000_000_000_000) // a host that was up for some time
)

func nsOf(seconds float64) int64 { return origin + int64(seconds*1e9) }

// play sends the connection to a sink, in batches as a recording would.
func (y synthetic) play(t testing.TB, sink tcp.Sink) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(1, uint64(y.id)))
	cc := "cubic"
	if y.bbr {
		cc = "bbr"
	}
	own := "192.0.2.10:50424"
	remote := "198.51.100.7:5201"
	if y.own != "" {
		own = y.own
		remote = y.remote
	}
	must(sink.Flow(&tcp.Flow{
		ID: y.id, Local: netip.MustParseAddrPort(own), Remote: netip.MustParseAddrPort(remote),
		Comm: "iperf3", PID: 4711, CongestionControl: cc, FirstNs: nsOf(y.start),
	}))
	if y.air {
		y.playRadio(sink, must)
	}
	batch := tcp.NewBatch(1024)
	flush := func() {
		must(sink.Samples(batch))
		batch.Reset()
	}
	rate := y.mbit * 1e6 / 8 / mss // packets/s
	bdp := rate * y.rttMs / 1e3
	cwnd := 10.0
	wmax := 0.0
	k := 0.0
	epoch := -1.0
	slowStart := true
	state := tcp.CAOpen
	until := 0.0
	var acked, sackBase, held, sent float64
	srtt := 0.0
	minRTT := math.Inf(1)
	event := func(e tcp.Event) {
		e.Flow = y.id
		e.CAState = state
		must(sink.Event(&e))
	}
	change := func(now float64, to tcp.CAState) {
		if to != state {
			event(tcp.Event{TimeNs: nsOf(now), Kind: tcp.EventCAState, From: uint8(state), To: uint8(to)})
			state = to
		}
	}
	reduce := func(now float64) {
		wmax = cwnd
		cwnd *= 0.7
		k = math.Cbrt(wmax * 0.3 / 0.4)
		epoch = now
		slowStart = false
	}
	event(tcp.Event{TimeNs: nsOf(y.start), Kind: tcp.EventOpen})
	timeout := y.timeoutAt
	reorder := y.reorderAt
	local := y.localAt
	for now := y.start; now < y.end; {
		queue := max(0, cwnd-bdp)
		rtt := y.rttMs/1e3 + queue/rate + 0.0004*random.ExpFloat64()
		step := 1 / min(rate, cwnd/rtt)
		now += step
		acked += mss
		seq := int64(acked + cwnd*mss*0.6)
		if srtt == 0 {
			srtt = rtt
		}
		srtt += (rtt - srtt) / 8
		minRTT = min(minRTT, rtt)
		if now > until && state != tcp.CAOpen {
			change(now, tcp.CAOpen)
		}
		switch {
		case timeout != 0 && now >= timeout:
			timeout = 0
			event(tcp.Event{TimeNs: nsOf(now), Kind: tcp.EventTimeout, Code: tcp.CodeTimeout, Value: int64(rtt * 3e6)})
			change(now, tcp.CALoss)
			event(tcp.Event{
				TimeNs: nsOf(now), Kind: tcp.EventRetransmit, Cause: tcp.CauseRTO, Seq: int64(acked),
				EndSeq: int64(acked) + mss,
			})
			for i := range 6 {
				at := int64(acked) + int64(i+1)*mss
				event(tcp.Event{
					TimeNs: nsOf(now + 0.01 + 0.004*float64(i)), Kind: tcp.EventRetransmit, Cause: tcp.CauseRTORecovery,
					Seq: at, EndSeq: at + mss,
				})
			}
			wmax = cwnd
			cwnd = 1
			slowStart = true
			until = now + 4*rtt
		case reorder != 0 && now >= reorder:
			reorder = 0
			change(now, tcp.CADisorder)
			event(tcp.Event{TimeNs: nsOf(now), Kind: tcp.EventReordering, Code: tcp.CodeReordering, Value: 5})
			until = now + rtt
		case local != 0 && now >= local:
			local = 0
			event(tcp.Event{TimeNs: nsOf(now), Kind: tcp.EventLocalCongestion, Code: tcp.CodeLocalCongestion})
			change(now, tcp.CACWR)
			reduce(now)
			until = now + rtt
		case state == tcp.CAOpen && queue > y.buffer*(0.85+0.3*random.Float64()):
			change(now, tcp.CARecovery)
			sackBase = acked
			until = now + 1.3*rtt
			reduce(now)
			for i := range 3 {
				at := int64(acked) + int64(i)*mss
				event(tcp.Event{
					TimeNs: nsOf(now + float64(i)*0.002), Kind: tcp.EventRetransmit, Cause: tcp.CauseFast, Value: 2,
					Seq: at, EndSeq: at + mss,
				})
			}
		case slowStart:
			cwnd++
			slowStart = wmax == 0 || cwnd < wmax/2
			if !slowStart {
				epoch = now
				k = math.Cbrt(wmax * 0.5 / 0.4)
			}
		case state == tcp.CAOpen:
			target := wmax + 0.4*math.Pow(now-epoch-k, 3)
			cwnd += max(0.01, target-cwnd) / cwnd
		}
		if state == tcp.CARecovery {
			e := tcp.Event{TimeNs: nsOf(now), Kind: tcp.EventSack, Code: tcp.CodeDupAck, NumBlocks: 1}
			e.Blocks[0] = tcp.Block{Start: int64(sackBase) + 4*mss, End: seq}
			event(e)
		}
		var s tcp.Sample
		for f := range s.Values {
			s.Values[f] = tcp.Absent
		}
		s.TimeNs = nsOf(now)
		s.Flow = y.id
		set := func(f tcp.Field, v float64) { s.Values[f] = int64(v) }
		set(tcp.CAStateField, float64(state))
		set(tcp.MSSBytes, mss)
		set(tcp.RttUs, rtt*1e6)
		set(tcp.SrttUs, srtt*1e6)
		set(tcp.MinRttUs, minRTT*1e6)
		set(tcp.SendBufferBytes, 2_626_560)
		set(tcp.ReceiveBufferBytes, 131_072)
		set(tcp.ReceiveWindowBytes, 65_536)
		set(tcp.BacklogBytes, 0)
		if y.receives {
			unread := 40_000 * (1 + math.Sin(now*7)) * random.Float64()
			set(tcp.ReceivedBytes, acked)
			set(tcp.ReadBytes, max(0, acked-unread))
			set(tcp.AckedBytes, 37)
			set(tcp.SentBytes, 37)
			set(tcp.WrittenBytes, 37)
			set(tcp.CwndPackets, 10)
			set(tcp.ReceiverRttUs, srtt*1e6)
		} else {
			sent = max(sent, acked+min(cwnd, bdp+queue)*mss)
			if state != tcp.CARecovery && state != tcp.CALoss || held == 0 {
				held = acked
			}
			set(tcp.CwndPackets, cwnd)
			set(tcp.InFlightPackets, min(cwnd, bdp+queue)-2*random.Float64())
			set(tcp.RetransOutPackets, 0)
			set(tcp.AckedBytes, held)
			set(tcp.SentBytes, sent)
			set(tcp.WrittenBytes, sent+120_000+30_000*random.Float64())
			set(tcp.ReceivedBytes, 0)
			set(tcp.ReadBytes, 0)
			set(tcp.DeviceQueueBytes, 2304*float64(1+random.IntN(4)))
			set(tcp.SendWindowBytes, 3_145_728)
			set(tcp.DeliveryRateBps, min(rate, cwnd/rtt)*mss*8*(0.95+0.1*random.Float64()))
			set(tcp.PacingRateBps, cwnd/srtt*mss*8*1.2)
			if wmax > 0 {
				set(tcp.SsthreshPackets, wmax*0.7)
			}
			if wmax > 0 && !y.bbr {
				set(tcp.CubicWmaxPackets, wmax)
				set(tcp.CubicRenoPackets, cwnd*0.8)
				if epoch > 0 && !slowStart {
					set(tcp.CubicKMs, k*1e3)
					set(tcp.CubicTargetPackets, wmax+0.4*math.Pow(now-epoch-k, 3))
				}
			}
			if y.bbr {
				phase := int(now*4) % 8
				set(tcp.BBRBandwidthBps, y.mbit*1e6*(1+0.02*math.Sin(now)))
				set(tcp.BBRMinRttUs, minRTT*1e6)
				set(tcp.BBRMode, 2)
				set(tcp.BBRPacingGainPct, []float64{125, 75, 100, 100, 100, 100, 100, 100}[phase])
				if now < y.start+0.4 {
					set(tcp.BBRMode, 0)
					set(tcp.BBRPacingGainPct, 289)
				}
			}
		}
		batch.Append(&s)
		if batch.Len() == 1024 {
			flush()
		}
	}
	flush()
	event(tcp.Event{TimeNs: nsOf(y.end), Kind: tcp.EventClose, Reason: tcp.ReasonLocalFIN})
}

// upload is a typical connection of ten seconds.
var upload = synthetic{
	id: 1, start: 0.1, end: 10, mbit: 48, rttMs: 20, buffer: 90, timeoutAt: 6.2, reorderAt: 3.1, localAt: 8.4,
}

// collect plays connections to a Series of all figures.
func collect(t testing.TB, kinds []Kind, o Options, flows ...synthetic) []*FlowSeries {
	t.Helper()
	if o.OriginNs == 0 {
		o.OriginNs = origin
	}
	s := NewSeries(kinds, nil, o)
	for _, f := range flows {
		f.play(t, s)
	}
	return s.Flows()
}

// playRadio sends the records of a radio whose rate falls in the second half, and that scans at two
// fifths.
func (y synthetic) playRadio(sink tcp.Sink, must func(error)) {
	random := rand.New(rand.NewPCG(2, uint64(y.id)))
	r := tcp.Radio{Interface: "wlan0", Values: tcp.NoRadioValues()}
	record := func(kind tcp.RadioKind, at float64) {
		r.Kind = kind
		r.TimeNs = nsOf(at)
		must(sink.Radio(&r))
	}
	r.Addresses = []netip.Addr{netip.MustParseAddr("192.0.2.10")}
	record(tcp.RadioInterface, y.start)
	for _, f := range []tcp.RadioField{tcp.RadioTxPackets, tcp.RadioTxRetries, tcp.RadioTxFailed} {
		r.Values[f] = 0
	}
	length := y.end - y.start
	for at := y.start; at < y.end; at += 0.1 {
		r.Values[tcp.RadioTxRateBps] = []int64{130e6, 130e6, 117e6}[random.IntN(3)]
		retries := int64(random.IntN(30))
		if at > y.start+length/2 {
			r.Values[tcp.RadioTxRateBps] = 65e6
			retries += 60
			r.Values[tcp.RadioTxFailed] += int64(random.IntN(8) / 7)
		}
		r.Values[tcp.RadioTxPackets] += 400
		r.Values[tcp.RadioTxRetries] += retries
		record(tcp.RadioStation, at)
	}
	record(tcp.RadioScanStart, y.start+0.4*length)
	record(tcp.RadioScanEnd, y.start+0.45*length)
}
