package show

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airtide/experiments"
	"airtide/internal/cell"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

var begun = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// committed is the content of an experiment's file.
func committed(t *testing.T, name string) string {
	t.Helper()
	data, err := experiments.Read(strings.TrimSuffix(name, experiments.Ending))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// scene makes results without a lab: model says what a flow or terminal of a run measures.
type scene struct {
	file  string
	model func(quantity plan.Quantity, settings map[string]string, of string, i int) float64
	noise float64 // standard deviation over repeats, as a share
	seed  uint64
	// skip says which runs are not made.
	skip func(run plan.Run, n int) bool
	// touch may change a result before it is written.
	touch func(r *result.Result)
	// leave may leave files in a run's folder.
	leave func(dir string, r *result.Result)
}

// make makes a folder of results and returns where it is.
func (s scene) make(t *testing.T) string {
	t.Helper()
	f, err := result.Create(t.TempDir(), []byte(s.file), begun)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rng := rand.New(rand.NewPCG(s.seed, 1))
	for n, run := range f.Plan.Runs {
		if s.skip != nil && s.skip(run, n) {
			continue
		}
		a, err := f.Begin(run)
		if err != nil {
			t.Fatal(err)
		}
		r := s.result(f.Plan, run, rng)
		if n == 0 { // one is enough to be drawn
			r.Series = result.SeriesFile
			s.series(t, f.Plan, run, filepath.Join(a.Dir, r.Series), rng)
		}
		if s.touch != nil {
			s.touch(r)
		}
		if s.leave != nil {
			s.leave(a.Dir, r)
		}
		if err := a.Finish(r); err != nil {
			t.Fatal(err)
		}
	}
	return f.Dir
}

func (s scene) result(p *plan.Plan, run plan.Run, rng *rand.Rand) *result.Result {
	setup := p.Points[run.Point].Setup
	r := result.New(p, run)
	r.Started, r.Ended, r.Valid = begun, begun.Add(time.Duration(setup.Duration)+2*time.Second), true
	r.System = result.System{Airtide: "v1.0", Kernel: "6.18.5 #1 SMP", Arch: "amd64", CPUs: 2}
	settings := map[string]string{}
	for name, v := range r.Settings {
		settings[name] = v.Text
	}
	for _, f := range setup.Flows {
		r.Flows = append(r.Flows, result.Flow{Name: f.Name, Group: f.Group, From: f.From, To: f.To, Protocol: string(f.Flow.Protocol)})
	}
	for _, m := range p.Experiment.Measure {
		var of []string
		if m.Is.Quantity.OfFlows() {
			for _, f := range setup.Flows {
				if len(m.Is.Terminals) == 0 || strings.HasPrefix(f.From, m.Is.Terminals[0]) {
					of = append(of, f.Name)
				}
			}
		} else {
			for _, terminal := range setup.Terminals {
				of = append(of, terminal.Name)
			}
		}
		each := make([]float64, len(of))
		for i := range of {
			each[i] = s.model(m.Is.Quantity, settings, of[i], i) * (1 + s.noise*rng.NormFloat64())
		}
		r.Measurements[m.Name] = result.NewMeasurement(m.Is, of, each)
	}
	return r
}

// series writes a plausible time series: slow start, then a sawtooth.
func (s scene) series(t *testing.T, p *plan.Plan, run plan.Run, path string, rng *rand.Rand) {
	t.Helper()
	setup := p.Points[run.Point].Setup
	series, err := result.CreateSeries(path)
	if err != nil {
		t.Fatal(err)
	}
	step := int64(setup.RecordInterval)
	for at := int64(0); at < int64(setup.Duration); at += step {
		w := &cell.Window{FromNs: at, ToNs: at + step}
		seconds := float64(at) / 1e9
		for i, terminal := range setup.Terminals {
			share := (1 - math.Exp(-seconds)) * (1 + 0.15*math.Sin(seconds*3+float64(i)) + 0.05*rng.NormFloat64()) / float64(len(setup.Terminals))
			w.Terminals = append(w.Terminals, cell.TerminalWindow{
				Name: terminal.Name, AirtimePercent: 95 * share, Ethernet: terminal.Link == plan.Ethernet,
				Queue:   cell.QueueWindow{MeanPackets: 400 * share * float64(i+1)},
				APQueue: cell.QueueWindow{MeanPackets: 20 * share},
			})
		}
		for i, f := range setup.Flows {
			w.Flows = append(w.Flows, cell.FlowWindow{Name: f.Name, ForwardMbps: 30 * (1 - math.Exp(-seconds)) * (1 + 0.1*math.Sin(seconds*4+float64(i)) + 0.04*rng.NormFloat64()) / float64(i+1)})
		}
		if err := series.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	if err := series.Close(); err != nil {
		t.Fatal(err)
	}
}

// figureEight is P1's figure 8 as its words have it: TCP falls with the RTT where the window is small.
func figureEight(t *testing.T) scene {
	// Fewer runs, since each is written to disk for good.
	file := strings.NewReplacer("repeats: 5", "repeats: 3", "32 ms, 64 ms, 128 ms, 256 ms", "64 ms").Replace(committed(t, "p1-fig8.yaml"))
	return scene{file: file, noise: 0.01, seed: 8, model: func(q plan.Quantity, s map[string]string, _ string, _ int) float64 {
		window := 63.0
		if s["system"] == "ubuntu-9.10" && s["direction"] == "reverse" {
			window = 3000
		}
		var rtt float64
		if _, err := fmt.Sscanf(s["rtt"], "%g ms", &rtt); err != nil {
			t.Fatal(err)
		}
		rtt = rtt/1e3 + 0.034
		rate := min(22, window*1448*8/rtt/1e6)
		switch q {
		case "max_cwnd":
			return window
		case "srtt":
			return rtt * 1e3
		}
		return rate
	}}
}

// quickstart has four terminals, two fast and two slow.
func quickstart(t *testing.T) scene {
	return scene{file: committed(t, "quickstart.yaml"), noise: 0.05, seed: 4, model: func(q plan.Quantity, _ map[string]string, _ string, i int) float64 {
		switch q {
		case "srtt":
			return 40 + 10*float64(i)
		case "airtime":
			return []float64{30, 25, 20, 20}[i]
		}
		return []float64{120, 110, 25, 22}[i%4]
	}}
}

func reportOf(t *testing.T, dir string) *Report {
	t.Helper()
	r, err := Read(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func printed(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// keep copies what was drawn to where a person may look at it, when that is asked for.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	dir := os.Getenv("AIRTIDE_FIGURES")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}
