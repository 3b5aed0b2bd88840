package result

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	"airtide/internal/lab/plan"
)

// small is an experiment of two points and two repeats.
const small = `name: small
duration: 4 s
warmup: 1 s
repeats: 2
terminals:
  phone: {radio: {standard: n, phy_rate: 65 Mbit/s}}
  tablet: {radio: {standard: n, phy_rate: 65 Mbit/s}}
servers:
  server:
path: {rate: 100 Mbit/s, rtt: 0 ms}
flows:
  upload: {from: terminals, to: server, protocol: tcp}
sweep:
  - {over: path.rtt, values: [0 ms, 16 ms]}
measure:
  goodput: {quantity: goodput, take: each}
  total: {quantity: goodput, take: sum}
`

var begun = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

func read(t *testing.T, file string) *plan.Plan {
	t.Helper()
	p, err := plan.Read(t.Context(), "small.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// made is a valid result of a run, as a lab would make it.
func made(p *plan.Plan, run plan.Run) *Result {
	r := New(p, run)
	r.Ended = begun.Add(5 * time.Second)
	r.Started = begun
	r.Valid = true
	for _, m := range p.Experiment.Measure {
		r.Measurements[m.Name] = NewMeasurement(m.Value, []string{"upload1", "upload2"},
			[]float64{20 + float64(run.Repeat), 10})
	}
	return r
}

// whole is a result in which every field says something.
func whole(t *testing.T) *Result {
	t.Helper()
	p := read(t, small)
	for _, run := range p.Runs {
		if run.ID != "rtt=16ms,r=2" {
			continue
		}
		r := made(p, run)
		rate := 21.5
		reverse := 0.5
		r.Experiment.SHA256 = hash([]byte(small))
		r.Attempt = 2
		r.Warnings = []string{"the engine runs at ordinary priority"}
		r.Problems = []string{"none that matters"}
		r.System = System{
			"v1", "6.18.5 #1 SMP", "amd64", 2, "Some CPU",
			map[string]string{"iperf3": "iperf 3.12"},
			map[string]string{"net.core.netdev_max_backlog": "1000"},
		}
		r.Machines = []Machine{{
			Name: "phone", Address: "10.0.0.2", Sysctls: map[string]string{"net.ipv4.tcp_rmem": "4096 87380 110208"},
			Routes: []Route{{"default", "10.0.0.1", "eth0", 1400, 4, 4, "reno"}},
			Kernel: "6.1.0-56-cloud-amd64", Accelerator: "tcg", Counters: map[string]uint64{"RetransSegs": 3},
		}}
		r.Flows = []Flow{{
			Name: "upload1", Group: "upload", From: "phone", To: "server", Protocol: "tcp", Direction: "forward",
			StartS: 0.01, StopS: 4,
			Command: []string{"iperf3", "-c", "10.0.1.1"}, Output: []string{"upload1.json"}, Error: "none",
			ReportedMbps: &rate, ReportedReverseMbps: &reverse,
			Transfers: []Transfer{{0.1, 1.2, 1e6, ""}, {1.4, 0.3, 4000, "connection reset"}},
			Datagrams: &Datagrams{1000, 10, 3, 0.25},
			Pings:     &Pings{5, 4, []Echo{{0.2, 16.5}}},
		}}
		r.Cell = &cell.Window{
			FromNs: 1e9, ToNs: 4e9, Terminals: []cell.TerminalWindow{{Name: "phone", AirtimePercent: 50}},
			Flows: []cell.FlowWindow{{Name: "upload1", ForwardMbps: 21.4}},
		}
		r.Engine = &cell.EngineStatus{Lag: engine.Lateness{Count: 1000, P999Ns: 200e3, MaxNs: 400e3}, LagLimitNs: 1e6}
		r.Series = SeriesFile
		r.Recordings = []File{{Machine: "phone", Name: "phone.airtide", ZeroNs: 7, Clock: 10}}
		r.Captures = []File{{Machine: "server", Name: "server.pcap"}}
		r.KernelLog = "kernel.log"
		r.Measurements["goodput"] = NewMeasurement(p.Experiment.Measure[0].Value, []string{"upload1", "upload2"},
			[]float64{21.4, math.NaN()})
		return r
	}
	t.Fatal("the plan has no such run")
	return nil
}

// writeFiles makes the files that a result speaks of.
func writeFiles(t *testing.T, dir string, r *Result) {
	t.Helper()
	for _, name := range r.files() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func mustCreate(t *testing.T, root, file string) *Folder {
	t.Helper()
	f, err := create(root, file, begun)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// finish makes runs of a folder up to a number of them.
func finish(t *testing.T, f *Folder, runs ...plan.Run) {
	t.Helper()
	for _, run := range runs {
		a, err := f.Begin(run)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Finish(made(f.Plan, run)); err != nil {
			t.Fatal(err)
		}
	}
}

// says fails the test unless an error has all of some texts.
func says(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("got %v, expected it to say %q", err, text)
		}
	}
}

// create makes a result of an experiment's text.
func create(root, text string, now time.Time) (*Folder, error) {
	p, err := plan.Read(context.Background(), experimentFile, []byte(text))
	if err != nil {
		return nil, err
	}
	return Create(root, p, now)
}

// resume opens a result to do its missing runs; nil means its own experiment.
func resume(t *testing.T, dir string, file []byte) (*Folder, error) {
	f, err := Open(t.Context(), dir)
	if err != nil {
		return nil, err
	}
	if file == nil {
		return f.Resume(t.Context(), nil)
	}
	p, err := plan.Read(t.Context(), experimentFile, file)
	if err != nil {
		return nil, err
	}
	return f.Resume(t.Context(), p)
}
