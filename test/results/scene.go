// Package results makes results of experiments without a lab, for tests of tables and figures.
package results

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airtide/experiments"
	"airtide/internal/cell"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// Begun is the time at which all results begin.
var Begun = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// Committed is the content of an experiment's file.
func Committed(t testing.TB, name string) string {
	t.Helper()
	data, err := experiments.Read(strings.TrimSuffix(name, experiments.Ending))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Model is the value of a quantity for flow or terminal of of a run, the i-th of its measurement.
type Model func(quantity plan.Quantity, settings map[string]string, of string, i int) float64

// Scene is a made-up result.
type Scene struct {
	File  string // the experiment
	Model Model
	Noise float64 // standard deviation over repeats, as a share
	Seed  uint64
	// Skip is true for the runs that are missing; n counts the runs of the plan.
	Skip func(run plan.Run, n int) bool
	// Touch may change a result before it is written, and Leave may add files to a run's folder.
	Touch func(r *result.Result)
	Leave func(dir string, r *result.Result)
}

// Make makes a folder of results and returns where it is.
func (s Scene) Make(t testing.TB) string {
	t.Helper()
	p, err := plan.Read(t.Context(), "experiment.yaml", []byte(s.File))
	if err != nil {
		t.Fatal(err)
	}
	f, err := result.Create(t.TempDir(), p, Begun)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rng := rand.New(rand.NewPCG(s.Seed, 1))
	for n, run := range f.Plan.Runs {
		if s.Skip != nil && s.Skip(run, n) {
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
		if s.Touch != nil {
			s.Touch(r)
		}
		if s.Leave != nil {
			s.Leave(a.Dir, r)
		}
		if err := a.Finish(r); err != nil {
			t.Fatal(err)
		}
	}
	return f.Dir
}

func (s Scene) result(p *plan.Plan, run plan.Run, rng *rand.Rand) *result.Result {
	setup := p.Points[run.Point].Setup
	r := result.New(p, run)
	r.Ended = Begun.Add(time.Duration(setup.Duration) + 2*time.Second)
	r.Started = Begun
	r.Valid = true
	r.System = result.System{Airtide: "v1.0", Kernel: "6.18.5 #1 SMP", Arch: "amd64", CPUs: 2}
	settings := map[string]string{}
	for name, v := range r.Settings {
		settings[name] = v.Text
	}
	for _, f := range setup.Flows {
		r.Flows = append(r.Flows, result.Flow{
			Name: f.Name, Group: f.Group, From: f.From, To: f.To, Protocol: string(f.Flow.Protocol),
		})
	}
	for _, m := range p.Experiment.Measure {
		var of []string
		if m.Value.Quantity.OfFlows() {
			for _, f := range setup.Flows {
				if len(m.Value.Terminals) == 0 || strings.HasPrefix(f.From, m.Value.Terminals[0]) {
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
			each[i] = s.Model(m.Value.Quantity, settings, of[i], i) * (1 + s.Noise*rng.NormFloat64())
		}
		r.Measurements[m.Name] = result.NewMeasurement(m.Value, of, each)
	}
	return r
}

// series writes a plausible time series: slow start, then a sawtooth.
func (s Scene) series(t testing.TB, p *plan.Plan, run plan.Run, path string, rng *rand.Rand) {
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
		grown := 1 - math.Exp(-seconds)
		for i, terminal := range setup.Terminals {
			swing := 1 + 0.15*math.Sin(seconds*3+float64(i)) + 0.05*rng.NormFloat64()
			share := grown * swing / float64(len(setup.Terminals))
			w.Terminals = append(w.Terminals, cell.TerminalWindow{
				Name: terminal.Name, AirtimePercent: 95 * share, Ethernet: terminal.Link == plan.Ethernet,
				Queue:   cell.QueueWindow{MeanPackets: 400 * share * float64(i+1)},
				APQueue: cell.QueueWindow{MeanPackets: 20 * share},
			})
		}
		for i, f := range setup.Flows {
			swing := 1 + 0.1*math.Sin(seconds*4+float64(i)) + 0.04*rng.NormFloat64()
			w.Flows = append(w.Flows, cell.FlowWindow{Name: f.Name, ForwardMbps: 30 * grown * swing / float64(i+1)})
		}
		if err := series.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	if err := series.Close(); err != nil {
		t.Fatal(err)
	}
}

// FigureEight is figure 8 of Miki et al. 2010 in its own words: TCP falls with the RTT where the
// window is small.
func FigureEight(t testing.TB) Scene {
	// Fewer runs, since each is written to disk for good.
	fewer := strings.NewReplacer("repeats: 5", "repeats: 3", "32 ms, 64 ms, 128 ms, 256 ms", "64 ms")
	model := func(q plan.Quantity, s map[string]string, _ string, _ int) float64 {
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
	}
	return Scene{File: fewer.Replace(Committed(t, "p1-fig8.yaml")), Noise: 0.01, Seed: 8, Model: model}
}

// Quickstart has four terminals, two fast and two slow.
func Quickstart(t testing.TB) Scene {
	model := func(q plan.Quantity, _ map[string]string, _ string, i int) float64 {
		switch q {
		case "srtt":
			return 40 + 10*float64(i)
		case "airtime":
			return []float64{30, 25, 20, 20}[i]
		}
		return []float64{120, 110, 25, 22}[i%4]
	}
	return Scene{File: Committed(t, "quickstart.yaml"), Noise: 0.05, Seed: 4, Model: model}
}
