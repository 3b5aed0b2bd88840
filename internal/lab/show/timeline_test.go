package show

import (
	"net/netip"
	"path/filepath"
	"testing"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
)

const courseFile = `name: course
title: Windows over time
duration: 5 s
warmup: 1 s
repeats: 2
terminals:
  sta: {link: ethernet}
servers:
  server:
flows:
  up: {from: sta, to: server, protocol: tcp}
sweep:
  - {over: path.rtt, values: [20 ms, 200 ms]}
  - {over: terminals.sta.congestion, values: [reno, cubic]}
record:
  tcp: all
measure:
  window: {quantity: cwnd}
  goodput: {quantity: goodput}
  k: {quantity: cubic_k}
figures:
  both: {kind: timeline, title: Both at 20 ms, y: [window, goodput], at: {rtt: 20 ms}}
  k: {kind: timeline, y: k, at: {rtt: 20 ms, congestion: cubic}}
  longer: {kind: timeline, y: window, at: {rtt: 200 ms}}
  fixed: {kind: bars, x: congestion, y: goodput, at: {rtt: 20 ms}}
`

const courseZeroNs = int64(500e9)

// courseScene has recordings of the runs at 20 ms alone.
func courseScene(t *testing.T) string {
	s := scene{file: courseFile, seed: 1, model: func(plan.Quantity, map[string]string, string, int) float64 { return 10 }}
	s.skip = func(run plan.Run, _ int) bool { return run.Repeat == 2 }
	s.touch = func(r *result.Result) {
		r.ZeroNs = courseZeroNs
		r.Machines = []result.Machine{{Name: "sta", Address: "10.0.0.1"}, {Name: "server", Address: "10.0.1.1"}}
		r.Flows[0].Port = 20001
		if r.Settings["rtt"].Text == "20 ms" {
			r.Recordings = []result.File{{Machine: "sta", Name: "tcp.atr"}}
		}
	}
	s.leave = func(dir string, r *result.Result) {
		if len(r.Recordings) > 0 {
			recordCourse(t, filepath.Join(dir, "tcp.atr"))
		}
	}
	return s.make(t)
}

// recordCourse writes a window that grows to 400 packets and falls, beside iperf3's own connection.
func recordCourse(t *testing.T, path string) {
	t.Helper()
	w, err := trace.Create(path, trace.HostMetadata(), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for id, port := range map[tcp.FlowID]uint16{1: 40000, 2: 40001} {
		err := w.Flow(&tcp.Flow{
			ID: id, FirstNs: courseZeroNs, Local: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), port),
			Remote: netip.AddrPortFrom(netip.MustParseAddr("10.0.1.1"), 20001),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	b := tcp.NewBatch(1)
	for i := range int64(500) {
		for id := tcp.FlowID(1); id <= 2; id++ {
			var s tcp.Sample
			for f := range s.Values {
				s.Values[f] = tcp.Absent
			}
			s.TimeNs, s.Flow = courseZeroNs+i*1e7, id
			s.Values[tcp.AckedBytes], s.Values[tcp.CwndPackets] = 1000, 4000 // of the one that does not count
			if id == 2 {
				s.Values[tcp.AckedBytes], s.Values[tcp.CwndPackets], s.Values[tcp.CubicKMs] = i*100_000, i%400+1, 2500
			}
			b.Append(&s)
		}
	}
	if err := w.Samples(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestTimelinesAreOfTheRecordingsOfRuns(t *testing.T) {
	r := reportOf(t, courseScene(t))
	o := FigureOptions{DPI: 100}
	drawn(t, r, "both", o).has(t, "Both at 20 ms", "time (s)", "window (packets)", "goodput (Mbit/s)", "reno", "cubic",
		"repeat 1; measurements begin at 1 s")
	drawn(t, r, "k", o).has(t, "k (s)", "Windows over time")
	c, err := r.chart(figureOf(t, r, "both"))
	if err != nil {
		t.Fatal(err)
	}
	greatest := 0.0
	for _, s := range c.panels[0].series {
		for _, p := range s.points {
			greatest = max(greatest, p.y)
		}
	}
	if len(c.panels[0].series) != 2 || greatest != 400 {
		t.Errorf("%d windows, the greatest %g, want 2 and 400: that of the connection that carries the data", len(c.panels[0].series), greatest)
	}
	if k, err := r.chart(figureOf(t, r, "k")); err != nil || k.panels[0].series[0].points[0].y != 2.5 {
		t.Errorf("K is %+v (%v), want 2.5 s", k, err)
	}
}

func TestARunWithoutARecordingHasNoLines(t *testing.T) {
	r := reportOf(t, courseScene(t))
	c, err := r.chart(figureOf(t, r, "longer"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.panels[0].series {
		if len(s.points) != 0 {
			t.Errorf("%d points of nothing", len(s.points))
		}
	}
	drawn(t, r, "longer", FigureOptions{DPI: 100}).has(t, "time (s)")
}

func TestAFigureAtAPlaceLeavesOutTheRest(t *testing.T) {
	r := reportOf(t, courseScene(t))
	c, err := r.chart(figureOf(t, r, "fixed"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.panels[0].series); n != 1 {
		t.Errorf("%d series, want one: rtt is fixed", n)
	}
}

func TestATimelineMayBeOfSomeFlows(t *testing.T) {
	r := reportOf(t, courseScene(t))
	f := figureOf(t, r, "both")
	f.Of = plan.Names{"up"}
	if c, err := r.chart(f); err != nil || len(c.panels[0].series) != 2 {
		t.Errorf("of the flow there is: %v", err)
	}
	f.Of = plan.Names{"down"}
	if c, err := r.chart(f); err != nil || len(c.panels[0].series) != 0 {
		t.Errorf("lines of a flow that there is not: %v", err)
	}
}

func figureOf(t *testing.T, r *Report, name string) plan.Figure {
	t.Helper()
	f, ok := r.figures().Get(name)
	if !ok {
		t.Fatalf("no figure %s", name)
	}
	return f
}
