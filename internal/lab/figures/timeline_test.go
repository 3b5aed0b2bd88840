package figures

import (
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/view/figure"
	"airtide/internal/view/plot"
	"airtide/test/capture"
	"airtide/test/results"
)

const timelineFile = `name: timeline
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
  packets: sta
measure:
  window: {quantity: cwnd}
  goodput: {quantity: goodput}
  k: {quantity: cubic_k}
figures:
  both: {kind: timeline, title: Both at 20 ms, y: [window, goodput], at: {rtt: 20 ms}}
  k: {kind: timeline, y: k, at: {rtt: 20 ms, congestion: cubic}}
  longer: {kind: timeline, y: window, at: {rtt: 200 ms}}
  plotted: {kind: timeline, title: As in the paper, plot: cwnd, of: up, at: {rtt: 20 ms, congestion: reno}}
  packets: {kind: timeline, plot: packets, of: up, at: {rtt: 20 ms, congestion: reno}}
  fixed: {kind: bars, x: congestion, y: goodput, at: {rtt: 20 ms}}
`

const timelineZeroNs = int64(500e9)

// timelineScene has recordings of the runs at 20 ms alone.
func timelineScene(t *testing.T) string {
	ten := func(plan.Quantity, map[string]string, string, int) float64 { return 10 }
	s := results.Scene{File: timelineFile, Seed: 1, Model: ten}
	s.Skip = func(run plan.Run, _ int) bool { return run.Repeat == 2 }
	s.Touch = func(r *result.Result) {
		r.ZeroNs = timelineZeroNs
		r.Machines = []result.Machine{{Name: "sta", Address: "10.0.0.1"}, {Name: "server", Address: "10.0.1.1"}}
		r.Flows[0].Port = 20001
		if r.Settings["rtt"].Text == "20 ms" {
			r.Recordings = []result.File{{Machine: "sta", Name: "tcp.atr"}}
			r.Captures = []result.File{{Machine: "sta", Name: "sta.pcap"}}
		}
	}
	s.Leave = func(dir string, r *result.Result) {
		if len(r.Recordings) > 0 {
			recordWindow(t, filepath.Join(dir, "tcp.atr"))
			capturePackets(t, filepath.Join(dir, "sta.pcap"))
		}
	}
	return s.Make(t)
}

// recordWindow writes a window that grows to 400 packets and falls, beside iperf3's own connection.
func recordWindow(t *testing.T, path string) {
	t.Helper()
	w, err := trace.Create(path, trace.HostMetadata(), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for id, port := range map[tcp.FlowID]uint16{1: 40000, 2: 40001} {
		err := w.Flow(&tcp.Flow{
			ID: id, FirstNs: timelineZeroNs, Local: netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), port),
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
			s.TimeNs = timelineZeroNs + i*1e7
			s.Flow = id
			if id == 1 { // this flow does not count
				s.Values[tcp.AckedBytes] = 1000
				s.Values[tcp.CwndPackets] = 4000
			} else {
				s.Values[tcp.AckedBytes] = i * 100_000
				s.Values[tcp.CwndPackets] = i%400 + 1
				s.Values[tcp.CubicKMs] = 2500
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
	r := reportOf(t, timelineScene(t))
	o := figure.Options{DPI: 100}
	p := drawn(t, r, "both", o)
	has(t, p, "Both at 20 ms", "time (s)", "window (packets)", "goodput (Mbit/s)", "reno", "cubic",
		"repeat 1 of each point; measurements begin at 1 s")
	p.CheckLayout(t)
	has(t, drawn(t, r, "k", o), "k (s)", "Windows over time")
	windows := chartOf(t, r, figureNamed(t, r, "both")).panelsOf()[0].Series
	greatest := 0.0
	for _, s := range windows {
		for _, d := range s.Data {
			greatest = max(greatest, d.Last)
		}
	}
	if len(windows) != 2 || greatest != 400 {
		t.Errorf("%d windows, the greatest %g, want 2 and 400 of the connection with the data", len(windows), greatest)
	}
	k := chartOf(t, r, figureNamed(t, r, "k")).panelsOf()[0].Series[0]
	if k.Data[0].Last != 2.5 {
		t.Errorf("K is %+v, want 2.5 s", k.Data[0])
	}
}

// capturePackets writes three segments of the flow, beside one of iperf3's own connection.
func capturePackets(t *testing.T, path string) {
	t.Helper()
	var packets []capture.Packet
	for i := range 4 {
		segment := capture.TCP{
			From: netip.MustParseAddrPort("10.0.0.1:40001"), To: netip.MustParseAddrPort("10.0.1.1:20001"),
			Seq: uint32(1 + 1000*i), Payload: 1000,
		}
		if i == 3 {
			segment.From = netip.MustParseAddrPort("10.0.0.1:40000")
			segment.Payload = 10
		}
		packets = append(packets, capture.Packet{TimeNs: int64(i) * 1e6, Data: capture.Ethernet(segment.IP())})
	}
	if err := os.WriteFile(path, capture.PCAP(binary.LittleEndian, true, 1, packets...), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTimelineMayBeAPlotOfARecordingOrACapture(t *testing.T) {
	r := reportOf(t, timelineScene(t))
	p := drawn(t, r, "plotted", figure.Options{DPI: 100})
	has(t, p, "As in the paper", "ca_state, error code", "cwnd (packets)", "run rtt=20ms,congestion=reno,r=1")
	p.CheckLayout(t)
	greatest := 0.0
	for _, s := range chartOf(t, r, figureNamed(t, r, "plotted")).panelsOf()[0].Series {
		for _, d := range s.Data {
			if d.Max > greatest {
				greatest = d.Max
			}
		}
	}
	if greatest != 400 {
		t.Errorf("the greatest window is %g, want 400 of the connection with the data", greatest)
	}
	has(t, drawn(t, r, "packets", figure.Options{DPI: 100}), "segments (packets)", "sent")
	if n := len(chartOf(t, r, figureNamed(t, r, "packets")).panelsOf()[0].Series[0].Data); n != 3 {
		t.Errorf("%d packets, want the 3 of the connection with the data", n)
	}
}

func TestAnExperimentKnowsAllPlots(t *testing.T) {
	for _, k := range plot.Kinds() {
		if plan.PlotKind(k).OfCapture() {
			t.Errorf("%s is of a recording", k)
		}
	}
	for _, k := range plot.PacketKinds() {
		if !plan.PlotKind(k).OfCapture() {
			t.Errorf("%s is of a capture", k)
		}
	}
	if n := len(plot.Kinds()) + len(plot.PacketKinds()); n != len((*plan.PlotKind)(nil).Choices()) {
		t.Errorf("experiments know %d of %d plots", len((*plan.PlotKind)(nil).Choices()), n)
	}
}

func TestRunWithoutARecordingHasNoLines(t *testing.T) {
	r := reportOf(t, timelineScene(t))
	for _, s := range chartOf(t, r, figureNamed(t, r, "longer")).panelsOf()[0].Series {
		if len(s.Data) != 0 {
			t.Errorf("%s has %d samples", s.Name, len(s.Data))
		}
	}
	has(t, drawn(t, r, "longer", figure.Options{DPI: 100}), "time (s)", "no run has values here")
}

func TestFixedParametersAreNoSeries(t *testing.T) {
	r := reportOf(t, timelineScene(t))
	if n := len(chartOf(t, r, figureNamed(t, r, "fixed")).panelsOf()[0].Series); n != 1 {
		t.Errorf("%d series, want one: rtt is fixed", n)
	}
}

func TestTimelineMayBeOfSomeFlows(t *testing.T) {
	r := reportOf(t, timelineScene(t))
	f := figureNamed(t, r, "both")
	for flow, want := range map[string]int{"up": 2, "down": 0} {
		f.Of = plan.Names{flow}
		if n := len(chartOf(t, r, f).panelsOf()[0].Series); n != want {
			t.Errorf("%d series of %s, want %d", n, flow, want)
		}
	}
}
