package control_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"airtide/internal/cell/medium"
	"airtide/internal/share/allocate"
	"airtide/internal/share/control"
	"airtide/internal/share/flow"
	"airtide/internal/share/message"
	"airtide/internal/share/probe"
	"airtide/internal/tcp"
	"airtide/test/scenario"
	"airtide/test/simulate"
)

// text returns outputs as JSON, with times from an origin. JSON has no NaN and no infinity, so such
// an output is an error.
func text(t *testing.T, out control.Outputs, origin time.Duration) string {
	t.Helper()
	if out.Probe != (probe.Proposal{}) {
		out.Probe.End -= origin
		if !out.Probe.Repeat {
			out.Probe.Begin -= origin
		}
	}
	if out.NextProbe > 0 {
		out.NextProbe -= origin
	}
	if out.View.Benefit != nil {
		benefit := *out.View.Benefit
		benefit.At -= origin
		out.View.Benefit = &benefit
	}
	s, err := json.Marshal(out)
	if err != nil {
		t.Fatalf("outputs that JSON cannot have: %v: %+v", err, out)
	}
	return string(s)
}

// Outputs follow from inputs alone. Neither the order of flows nor the time 0 matters.
func TestOutputsFollowFromInputs(t *testing.T) {
	const seeds, steps, later = 100, 300, time.Hour
	for seed := range uint64(seeds) {
		walk, config := scenario.NewWalk(seed, 0)
		core := control.New(config)
		same := control.New(config)
		reversed := control.New(config)
		shifted := control.New(config)
		for step := range steps {
			in := walk.Step()
			want := text(t, core.Step(walk.Now, in), 0)
			if got := text(t, same.Step(walk.Now, in), 0); got != want {
				t.Fatalf("seed %d, step %d: the same inputs give\n%s\nand\n%s", seed, step, want, got)
			}
			other := in
			other.Flows = slices.Clone(in.Flows)
			slices.Reverse(other.Flows)
			if got := text(t, reversed.Step(walk.Now, other), 0); got != want {
				t.Fatalf("seed %d, step %d: another order of flows gives\n%s\nand not\n%s", seed, step, got, want)
			}
			other = in
			other.Peers = slices.Clone(in.Peers)
			for i := range other.Peers {
				other.Peers[i].HeardNs += int64(later)
			}
			if got := text(t, shifted.Step(walk.Now+later, other), later); got != want {
				t.Fatalf("seed %d, step %d: an hour later\n%s\nand not\n%s", seed, step, got, want)
			}
		}
	}
}

// watch is called when an agent of a cell begins. What it returns is called after each step.
type watch = func(terminal int, c control.Config) func(now time.Duration, in control.Inputs, out control.Outputs)

// runCell runs a random cell in a closed loop. Its terminals know or measure their rate, join and
// leave, send or receive, need less than their share, have no agent, or send false reports.
func runCell(t *testing.T, seed uint64, length time.Duration, w watch) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 11))
	s := simulate.Scenario{
		Seed: seed, WireBps: []float64{0, 100e6, 20e6 + 100e6*r.Float64()}[r.IntN(3)],
		Delay:      []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond}[r.IntN(3)],
		ReportLoss: 0.2 * r.Float64(), SingleFrames: r.IntN(6) == 0, Watch: w,
	}
	rates := []float64{866.7, 433.3, 65}
	for range 2 + r.IntN(4) {
		station := simulate.ScenarioStation{
			PHYs: []medium.RateFrom{{PHY: phy(t, rates[r.IntN(3)])}}, Unknown: r.IntN(2) == 0,
			NoAgent: r.IntN(8) == 0, Flows: make([]simulate.ScenarioFlow, 1+r.IntN(2)),
		}
		if r.IntN(3) == 0 { // its rate changes
			station.PHYs = append(station.PHYs, medium.RateFrom{
				FromNs: r.Int64N(int64(length)), PHY: phy(t, rates[r.IntN(3)]),
			})
		}
		for k := range station.Flows {
			station.Flows[k].Download = r.IntN(4) == 0
			if r.IntN(4) == 0 {
				station.Flows[k].DemandBps = 1e6 * float64(1+r.IntN(20))
			}
		}
		if r.IntN(4) == 0 {
			station.Joins = time.Duration(r.Int64N(int64(length)))
			station.Leaves = station.Joins + time.Duration(r.Int64N(int64(length)))
		}
		if r.IntN(12) == 0 {
			station.Claims = func(report *message.Report) {
				report.MaxKbps = 1_000_000
				report.MaxSource = message.Configured
				report.ApplicationLimited = false
				report.ForeignQueues = r.IntN(3) == 0
				if r.IntN(4) == 0 {
					report.Probe = message.ProbeIn(message.ProbeKind(1+r.IntN(2)), 0, 800*time.Millisecond)
				}
			}
		}
		s.Stations = append(s.Stations, station)
	}
	cell, err := s.NewCell(true)
	if err != nil {
		t.Fatal(err)
	}
	cell.Until(length)
}

// phy returns a rate of 802.11ac in Mbit/s.
func phy(t *testing.T, mbps float64) medium.PHY {
	t.Helper()
	width := 80
	streams := 2
	switch mbps {
	case 433.3:
		streams = 1
	case 65:
		width = 20
		streams = 1
	}
	p, err := medium.AtRate(medium.Std11ac, width, streams, mbps)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// An agent of a cell decides the same at another time.
func TestCellsDoNotDependOnTheTime(t *testing.T) {
	const later = time.Hour
	for seed := range uint64(6) {
		runCell(t, seed, 10*time.Second, func(terminal int, c control.Config) func(
			time.Duration, control.Inputs, control.Outputs,
		) {
			shifted := control.New(c)
			return func(now time.Duration, in control.Inputs, out control.Outputs) {
				in.Peers = slices.Clone(in.Peers)
				for i := range in.Peers {
					in.Peers[i].HeardNs += int64(later)
				}
				if got, want := text(t, shifted.Step(now+later, in), later), text(t, out, 0); got != want {
					t.Fatalf("seed %d, terminal %d at %s: an hour later\n%s\nwant\n%s", seed, terminal, now, got, want)
				}
			}
		})
	}
}

// checkBounds checks what holds for all outputs.
func checkBounds(t *testing.T, in control.Inputs, out control.Outputs) {
	t.Helper()
	mss := map[string]int{}
	for _, f := range in.Flows {
		mss[f.Remote.String()] = max(f.MSS, 1)
	}
	if len(in.Peers) == 0 || in.Silence > in.SilenceLimit {
		for _, r := range out.Receive {
			if r.Bytes > 0 {
				t.Errorf("a receive window of %d bytes without peers", r.Bytes)
			}
		}
		if len(out.Send) > 0 || out.Reason == "" {
			t.Errorf("%d bounds without peers, reason %q", len(out.Send), out.Reason)
		}
	}
	for _, b := range out.Send {
		switch {
		case out.View.Probe == message.RTTProbe:
			if b.Packets > 4 {
				t.Errorf("%d packets in an RTT probe", b.Packets)
			}
		case out.View.Probe == message.NoProbe:
			if b.Packets < control.LeastGreedyWindow || b.Packets > math.MaxInt32 {
				t.Errorf("a bound outside probes: %+v", b)
			}
		}
	}
	for _, b := range out.Receive {
		m := mss[b.Remote.String()]
		switch {
		case b.Bytes == 0:
		case out.View.Probe == message.RTTProbe:
			if int(b.Bytes) > 4*m {
				t.Errorf("%d bytes in an RTT probe", b.Bytes)
			}
		case out.View.Probe == message.NoProbe:
			if int(b.Bytes) < control.LeastGreedyWindow*m {
				t.Errorf("a receive window outside probes: %+v", b)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	probes := map[message.ProbeKind]int{}
	inCells := map[message.ProbeKind]int{}
	walks := uint64(200)
	cells := uint64(12)
	if testing.Short() {
		walks = 20
		cells = 2
	}
	for seed := range walks {
		walk, config := scenario.NewWalk(seed, 0)
		if config.Policy == control.EqualCapPolicy {
			continue // it has no probes
		}
		core := control.New(config)
		for range 300 {
			in := walk.Step()
			out := core.Step(walk.Now, in)
			checkBounds(t, in, out)
			probes[out.View.Probe]++
			if t.Failed() {
				t.Fatalf("seed %d at %s", seed, walk.Now)
			}
		}
	}
	for seed := range cells {
		runCell(t, seed, 20*time.Second, func(_ int, _ control.Config) func(
			time.Duration, control.Inputs, control.Outputs,
		) {
			return func(_ time.Duration, in control.Inputs, out control.Outputs) {
				checkBounds(t, in, out)
				inCells[out.View.Probe]++
			}
		})
		if t.Failed() {
			t.Fatalf("cell %d", seed)
		}
	}
	for _, kind := range []message.ProbeKind{message.RTTProbe, message.ReleaseProbe} {
		if probes[kind] < 20 || inCells[kind] < 20 {
			t.Errorf("only %d and %d steps in probes of kind %v", probes[kind], inCells[kind], kind)
		}
	}
}

// hostilePeers announce probes without end, under many sessions.
func hostilePeers(now time.Duration) (all []message.Peer) {
	for i := range 8 {
		// Every two seconds each has a new session, lower than that of the others.
		session := uint64(1 + i + 8*(10_000-int(now/(2*time.Second))))
		all = append(all, message.Peer{
			Source: scenario.Address(i + 2), HeardNs: int64(now),
			Report: message.Report{
				Session: session, State: message.Controlling, MaxKbps: 100_000,
				Weight: 1000, PeriodMs: 200, UploadKbps: 1000,
				Probe: message.ProbeIn(message.RTTProbe, time.Duration(i)*50*time.Millisecond, time.Second),
			},
		})
	}
	slices.SortFunc(all, func(a, b message.Peer) int { return int(a.Report.Session) - int(b.Report.Session) })
	return all
}

// Hostile peers hold others back for at most a tenth of the time and 4 s.
func TestHostilePeersHoldNobodyBack(t *testing.T) {
	const length, every = 2 * time.Minute, 50 * time.Millisecond
	core := control.New(control.Config{Policy: control.Shares, Weight: 1, StandaloneBps: 200e6, Session: 1 << 60})
	var held time.Duration
	for now := time.Duration(0); now < length; now += every {
		out := core.Step(now, control.Inputs{
			Flows: []flow.Sample{{
				ID: tcp.FlowID(1), Local: scenario.Address(1), Remote: scenario.Address(100), MSS: 1448,
				SendRate: 50e6, Greedy: true,
				MinRTT: 2 * time.Millisecond, MeanRTT: 10 * time.Millisecond, LeastRTT: 5 * time.Millisecond,
			}},
			Host: flow.HostSample{SendRate: 50e6}, Peers: hostilePeers(now),
			SilenceLimit: time.Second, Ready: true,
		})
		if out.View.Probe == message.RTTProbe {
			held += every
		}
	}
	if limit := length/10 + 4*time.Second + time.Second; held > limit || held < time.Second {
		t.Errorf("probes held back for %s of %s, and at most %s are allowed", held, length, limit)
	}
}

// All terminals compute the same shares from the same reports, and the shares fit both limits.
func TestAllComputeTheSameShares(t *testing.T) {
	for seed := range uint64(100) {
		walk, _ := scenario.NewWalk(seed, 0)
		for range 30 {
			walk.Step()
		}
		var all []control.Terminal
		in := walk.Step()
		for i := range in.Peers {
			if in.Peers[i].Report.MaxKbps > 0 {
				all = append(all, control.TerminalOf(&in.Peers[i]))
			}
		}
		sum := 0.0
		airtime := 0.0
		total := math.NaN()
		for own := range all {
			d, err := control.NewShareController(control.Options{}).Step(walk.Now, own, all)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if own > 0 && math.Abs(d.Total-total) > 1e-9*total {
				t.Errorf("seed %d: totals of %v and %v", seed, total, d.Total)
			}
			if d.Capacity != allocate.Unlimited {
				t.Errorf("seed %d: a wire of %v at the first step", seed, d.Capacity)
			}
			total = d.Total
			sum += d.Share
			airtime += d.Share / all[own].Max
		}
		if len(all) > 0 && math.Abs(sum-total) > 1e-9*total || airtime > 1+1e-9 {
			t.Errorf("seed %d: shares of %v together, airtime %v, total %v", seed, sum, airtime, total)
		}
	}
}
