package control

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"airtide/internal/share/allocate"
	"airtide/internal/share/flow"
	"airtide/internal/share/message"
	"airtide/internal/tcp"
)

// TestWhoBeginsExpectsOthersToBeginToo: until they report that they are idle, or their rates.
func TestWhoBeginsExpectsOthersToBeginToo(t *testing.T) {
	c := New(Config{StandaloneBps: 25e6, Weight: 1})
	var in Inputs
	peer := func(heard time.Duration, kbps message.Rate) message.Peer {
		return message.Peer{HeardNs: int64(heard), Report: message.Report{
			PeriodMs: 200, MaxKbps: 25_000, UploadKbps: kbps, ApplicationLimited: true, DemandKbps: kbps, Weight: 1000,
		}}
	}
	idle := peer(900*time.Millisecond, 0)
	busy := peer(900*time.Millisecond, 5000)
	unknown := peer(900*time.Millisecond, 0)
	unknown.Report.MaxKbps = 0
	in.Peers = []message.Peer{idle, busy, unknown}
	demands := func(now time.Duration, rate float64) []float64 {
		c.host = flow.HostSample{SendRate: rate}
		all := c.terminals(now, in)
		if len(all) != 3 {
			t.Fatalf("%d terminals, want this one and two of which it is known what they reach", len(all))
		}
		return []float64{all[1].Demand, all[2].Demand}
	}
	all := math.Inf(1)
	five := 5e6
	for _, step := range []struct {
		now, heard time.Duration // present time, and last report of the idle one
		rate       float64
		want       float64
	}{
		{1000 * time.Millisecond, 900 * time.Millisecond, 0, 0},     // nothing to carry: nothing to leave room for
		{1100 * time.Millisecond, 900 * time.Millisecond, 2e6, all}, // it begins
		{1200 * time.Millisecond, 1150 * time.Millisecond, 9e6, all},
		{1300 * time.Millisecond, 1250 * time.Millisecond, 9e6, 0}, // told again, late enough
		{9000 * time.Millisecond, 8900 * time.Millisecond, 9e6, 0},
		{9100 * time.Millisecond, 9050 * time.Millisecond, 0, 0},
		{9200 * time.Millisecond, 9050 * time.Millisecond, 9e6, all}, // and again
	} {
		in.Peers[0].HeardNs = int64(step.heard)
		if got := demands(step.now, step.rate); got[0] != step.want || got[1] != five {
			t.Errorf("at %s: demands of %g (idle) and %g, want %g and %g", step.now, got[0], got[1], step.want, five)
		}
	}
}

// TestNoWindowIsBelowTheLeast: a share may be less than a packet in a round trip.
func TestNoWindowIsBelowTheLeast(t *testing.T) {
	for bytes, want := range map[float64]uint32{
		100: LeastWindow, 2.9 * 1448: 2, 3.1 * 1448: 3, math.Inf(1): math.MaxInt32,
	} {
		b := bounds{}
		b.addSend(window{bytes: bytes, flow: &flow.Flow{MSS: 1448}, least: LeastWindow})
		if got := b.send[0].Packets; got != want {
			t.Errorf("a window of %g bytes is bounded by %d packets, want %d", bytes, got, want)
		}
	}
}

// TestWhichFlowsHaveTwoPackets: a share may be less than a packet in a round trip. Only a greedy
// flow of a terminal that is not behind its share then waits for delayed ACKs. The middleware that
// is reconstructed has two packets.
func TestWhichFlowsHaveTwoPackets(t *testing.T) {
	const now = time.Minute
	const share = 1e5
	for _, w := range []struct {
		greedy bool
		rate   float64
		want   uint32
	}{
		{true, share, LeastGreedyWindow}, {true, 0.9 * satisfiedPart * share, LeastWindow}, {false, share, LeastWindow},
	} {
		for _, receive := range []bool{true, false} {
			c := New(Config{StandaloneBps: 50e6, Weight: 1})
			d := flow.Direction{BaseRTT: 2 * time.Millisecond, Rate: w.rate, ActiveUntil: 2 * now}
			if w.greedy {
				d.GreedyUntil = 2 * now
			}
			f := &flow.Flow{ID: 1, MSS: 1448}
			*f.Direction(receive) = d
			c.flows.Add(f)
			c.flows.Send.Rate = w.rate
			b := c.windows.ofShare(windowStep{now: now, share: share}, Decision{Share: share, Correction: 1}, 50e6)
			if receive {
				if len(b.receive) != 1 || b.receive[0].bytes != w.want*1448 {
					t.Errorf("%+v: receive windows %+v", w, b.receive)
				}
				continue
			}
			if len(b.send) != 1 || b.send[0].Packets != w.want {
				t.Errorf("%+v: windows %+v", w, b.send)
			}
			equal := c.windows.equalCap(windowStep{now: now, share: share}, 2*time.Millisecond)
			if len(equal.send) != 1 || equal.send[0].Packets != LeastWindow {
				t.Errorf("%+v: equal-cap has %+v", w, equal.send)
			}
		}
	}
}

// TestWhoIsToHaveNothingHasTheSmallestWindows: where the total comes first a slow terminal has no
// share, which is not to be without bounds.
func TestWhoIsToHaveNothingHasTheSmallestWindows(t *testing.T) {
	const now = time.Minute
	busy := flow.Direction{
		BaseRTT: 2 * time.Millisecond, Rate: 10e6, ActiveUntil: 2 * now, GreedyUntil: 2 * now,
	}
	c := New(Config{StandaloneBps: 50e6, Weight: 1, Session: 1, Options: Options{Alpha: new(allocate.TotalFirst)}})
	f := &flow.Flow{ID: 1, MSS: 1448, Send: busy}
	c.flows.Add(f)
	c.flows.Send = flow.Total{Rate: 10e6, Greedy: true, BaseRTT: busy.BaseRTT}
	peer := message.Peer{HeardNs: int64(now), Report: message.Report{
		State: message.Controlling, PeriodMs: 200, MaxKbps: 500_000, UploadKbps: 400_000,
		Weight: 1000, MinRTTUs: 2000, SmoothedRTTUs: 9000,
	}}
	in := Inputs{MayReportEarly: true, SilenceLimit: time.Hour, Peers: []message.Peer{peer}}
	var v View
	b, why := c.decide(now, in, &v)
	if why != "" || c.decision.Share != 0 || len(b.send) != 1 || b.send[0].Packets != LeastGreedyWindow {
		t.Errorf("a share of %g, bounds %+v, %q", c.decision.Share, b.send, why)
	}
	c.flows.Send = flow.Total{}
	f.Send = flow.Direction{}
	if b, _ := c.decide(now+time.Second, in, &v); len(b.send) != 0 {
		t.Errorf("of one that carries nothing: %+v", b.send)
	}
}

// TestFlowsOfOneDirectionDivideItsShare: by demand, but each has an equal part at least. A flow
// with little demand does not use it.
func TestFlowsOfOneDirectionDivideItsShare(t *testing.T) {
	const now, base, share = time.Minute, 20 * time.Millisecond, 40e6
	window := func(part float64, base time.Duration) float64 { return part * share * base.Seconds() / 8 }
	for _, c := range []struct {
		what         string
		rates        [2]float64
		greedy       [2]bool
		first, other float64 // parts of the share
	}{
		{"both want all", [2]float64{30e6, 10e6}, [2]bool{true, true}, 0.5, 0.5},
		{"the other one wants little", [2]float64{38e6, 1e6}, [2]bool{true, false}, 1 - 1.25/40, 0.5},
		{"neither wants much", [2]float64{1e6, 2e6}, [2]bool{false, false}, 0.5, 0.5 + 1.25/80},
	} {
		core := New(Config{})
		core.share = share
		for i, rate := range c.rates {
			d := flow.Direction{BaseRTT: base, Rate: rate, ActiveUntil: 2 * now}
			if c.greedy[i] {
				d.GreedyUntil = 2 * now
			}
			core.flows.Add(&flow.Flow{ID: tcp.FlowID(i + 1), MSS: 1448, Send: d})
		}
		all := core.windows.ofDirection(core.windowStep(now), false, 1, false, window)
		for i, part := range []float64{c.first, c.other} {
			if want := window(part, base); math.Abs(all[i].bytes/want-1) > 0.03 {
				t.Errorf("%s: flow %d has a window of %.0f bytes, want %.0f", c.what, i+1, all[i].bytes, want)
			}
		}
		if sum := all[0].bytes + all[1].bytes; sum > 1.5*window(1, base) {
			t.Errorf("%s: windows of %.0f bytes together, of %.0f", c.what, sum, window(1, base))
		}
	}
}

// TestWindowsOfFlowsAddUpToTheTerminals: greedy flows divide the terminal's window. Flows that want
// less keep an equal part each, so that n flows have at most 2 - 1/n of it together.
func TestWindowsOfFlowsAddUpToTheTerminals(t *testing.T) {
	const now, base, share, mss = time.Minute, 20 * time.Millisecond, 400e6, 1448
	window := func(part float64, base time.Duration) float64 { return part * share * base.Seconds() / 8 }
	whole := window(1, base)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, receive := range []bool{false, true} {
			n := 1 + r.IntN(40)
			allGreedy := r.IntN(2) == 0
			core := New(Config{})
			core.share = share
			for id := range n {
				f := &flow.Flow{ID: tcp.FlowID(id + 1), MSS: mss}
				d := f.Direction(receive)
				*d = flow.Direction{BaseRTT: base, Rate: share * r.Float64(), ActiveUntil: 2 * now}
				if allGreedy || r.IntN(2) == 0 {
					d.GreedyUntil = 2 * now
				}
				core.flows.Add(f)
			}
			sum := func(round bool) (bytes float64) {
				all := core.windows.ofDirection(core.windowStep(now), receive, 1, round, window)
				if len(all) != n {
					t.Fatalf("seed %d: %d windows of %d flows", seed, len(all), n)
				}
				for _, w := range all {
					bytes += w.bytes
				}
				return bytes
			}
			most := (2 - 1/float64(n)) * whole
			if allGreedy {
				most = whole
			}
			got := sum(false)
			if got < whole*(1-1e-9) || got > most*(1+1e-9) {
				t.Errorf("seed %d: windows of %d flows: %.0f bytes, want %.0f to %.0f", seed, n, got, whole, most)
			}
			if rounded, want := sum(true)/mss, WholeAggregates(got/mss); math.Abs(rounded-want) > 1e-6 {
				t.Errorf("seed %d: rounded windows of %d flows: %.3f packets, want %.3f", seed, n, rounded, want)
			}
		}
	}
}

// TestEqualCapDividesAmongThoseWhoSend: the capacity by the number of terminals, of which those
// that only receive are none.
func TestEqualCapDividesAmongThoseWhoSend(t *testing.T) {
	const mss, base, now = 1448, 20 * time.Millisecond, time.Minute
	c := New(Config{CapacityBps: 100e6})
	c.flows.Add(&flow.Flow{ID: 1, MSS: mss, Send: flow.Direction{
		BaseRTT: base, Rate: 10e6, ActiveUntil: 2 * now, GreedyUntil: 2 * now,
	}})
	c.host.MeanRTT = 2 * base
	var in Inputs
	for _, kbps := range []message.Rate{5000, 0, 7000} {
		in.Peers = append(in.Peers, message.Peer{Report: message.Report{UploadKbps: kbps}})
	}
	c.setEqualShare(in, &View{})
	b := c.windows.equalCap(c.windowStep(now), c.host.MeanRTT)
	want := 100e6 / 3 * base.Seconds() / (8 * mss) / 2
	if len(b.send) != 1 || math.Abs(float64(b.send[0].Packets)-want) > 1 {
		t.Errorf("windows %+v, want one of %.1f packets", b.send, want)
	}
}

// TestEqualRangeBoundsFromBelowAndAbove: an equal part of the capacity, by the measured RTT; by the
// base RTT before anything was measured.
func TestEqualRangeBoundsFromBelowAndAbove(t *testing.T) {
	const mss, base, now = 1448, 20 * time.Millisecond, time.Minute
	for _, mean := range []time.Duration{0, base / 2, base, 3 * base} {
		c := New(Config{CapacityBps: 100e6})
		c.flows.Add(&flow.Flow{ID: 1, MSS: mss, Send: flow.Direction{
			BaseRTT: base, Rate: 10e6, ActiveUntil: 2 * now, GreedyUntil: 2 * now,
		}})
		c.host.MeanRTT = mean
		in := Inputs{Peers: []message.Peer{{Report: message.Report{UploadKbps: 5000}}}}
		c.setEqualShare(in, &View{})
		b := c.windows.equalRange(c.windowStep(now), c.host.MeanRTT)
		least := 100e6 / 2 * max(base, mean).Seconds() / (8 * mss)
		if len(b.send) != 1 || math.Abs(float64(b.send[0].Least)-least) > 1 ||
			math.Abs(float64(b.send[0].Packets)-1.25*least) > 1 {
			t.Errorf("mean RTT %s: windows %+v, want one from %.1f packets to 1.25 times as many", mean, b.send, least)
		}
	}
}

// TestWindowsOfATerminalAreWholeAggregatesTogether: each in proportion, and the greatest has what
// is left over.
func TestWindowsOfATerminalAreWholeAggregatesTogether(t *testing.T) {
	for _, c := range []struct {
		packets, want []float64
	}{
		{[]float64{70.4}, []float64{64}},
		{[]float64{40, 30}, []float64{37, 27}},
		{[]float64{35, 33, 2}, []float64{33, 30, 1}},
		{[]float64{64}, []float64{64}},
		{[]float64{10.5, 20}, []float64{10.5, 20}},
		{nil, nil},
	} {
		var all []window
		for _, p := range c.packets {
			all = append(all, window{flow: &flow.Flow{MSS: 1448}, bytes: p * 1448})
		}
		roundToAggregates(all)
		for i, w := range all {
			if got := w.bytes / 1448; math.Abs(got-c.want[i]) > 1e-9 {
				t.Errorf("of %v packets window %d became %g, want %g", c.packets, i+1, got, c.want[i])
			}
		}
	}
}

// TestReceiveWindowsAreShownOnlyIfInForce: some kernels cannot bound them.
func TestReceiveWindowsAreShownOnlyIfInForce(t *testing.T) {
	for _, inForce := range []bool{true, false} {
		c := New(Config{BoundReceive: inForce})
		f := &flow.Flow{ID: 1, MSS: 1448, Receive: flow.Direction{ActiveUntil: time.Hour}}
		c.flows.Add(f)
		var out Outputs
		c.list(bounds{receive: []receiveBound{{f, 14480}}}, &out)
		if shown := len(out.View.Receive) == 1; shown != inForce || len(out.Receive) != len(out.View.Receive) {
			t.Errorf("in force: %v, shown: %+v, bounds %+v", inForce, out.View.Receive, out.Receive)
		}
	}
}

// TestReceivedPacketsHaveATargetOfTheirOwn: the window of a download leaves it, and that of an
// upload the queue target.
func TestReceivedPacketsHaveATargetOfTheirOwn(t *testing.T) {
	const now, base, queue = time.Minute, 20 * time.Millisecond, 40 * time.Millisecond
	const share = 40e6
	for _, receive := range []bool{false, true} {
		c := New(Config{StandaloneBps: 50e6, Weight: 1})
		f := &flow.Flow{ID: 1, MSS: 1448}
		*f.Direction(receive) = flow.Direction{
			BaseRTT: base, Rate: share, ActiveUntil: 2 * now, GreedyUntil: 2 * now,
		}
		c.flows.Add(f)
		total := flow.Total{Rate: share, Greedy: true, BaseRTT: base, Flows: 1}
		if receive {
			c.flows.Receive = total
		} else {
			c.flows.Send = total
		}
		d := Decision{Share: share, Correction: 1, QueueTarget: queue, ReceivedTarget: queue / 2}
		b := c.windows.ofShare(windowStep{now: now, share: share}, d, 50e6)
		got := 0.0
		wait := queue
		if receive {
			got = float64(b.receive[0].bytes)
			wait = queue / 2
		} else {
			got = float64(b.send[0].Packets) * 1448
		}
		if want := share / 8 * (base + wait).Seconds(); math.Abs(got-want) > 1448 {
			t.Errorf("received %v: a window of %.0f bytes, want %.0f", receive, got, want)
		}
	}
}
