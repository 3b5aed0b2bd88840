package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airtide/internal/cell"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// fairnessReport is the output of airtide fairness --json, field by field.
type fairnessReport struct {
	Of         string    `json:"of"`
	Unit       string    `json:"unit"`
	Names      []string  `json:"names"`
	Rates      []float64 `json:"rates"`
	Total      *float64  `json:"total"`
	Jain       *float64  `json:"jain"`
	Normalised *float64  `json:"jain_normalised"`
	Printed    *float64  `json:"printed_form"`
	Airtime    *float64  `json:"airtime"`
	Distance   *float64  `json:"distance"`
	Starved    int       `json:"starved_terminals"`
	Optimum    *struct {
		Shares    []float64 `json:"shares"`
		Total     float64   `json:"total"`
		LimitedBy string    `json:"limited_by"`
	} `json:"optimum"`
}

func fairnessOf(t *testing.T, args ...string) (r fairnessReport) {
	t.Helper()
	decodeFairness(t, &r, args...)
	return r
}

func decodeFairness(t *testing.T, into any, args ...string) {
	t.Helper()
	out := mustRun(t, append([]string{"fairness", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
}

func about(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 5e-4 }

func TestFairnessOfFigures(t *testing.T) {
	r := fairnessOf(t, "30", "28", "9", "8", "--max", "400,500,50,50")
	// sum 75, squares 1829; x/M .075 .056 .18 .16, sum .471, squares .066761; optimum 100 125 12.5
	// 12.5
	distance := math.Log(100.0/30*125/28*12.5/9*12.5/8) / 4
	if !about(r.Total, 75) || !about(r.Jain, 75*75/(4*1829.0)) || !about(r.Normalised, 0.471*0.471/(4*0.066761)) ||
		!about(r.Printed, 0.471/4) ||
		!about(r.Airtime, 0.471) || !about(r.Distance, distance) || r.Optimum == nil ||
		r.Optimum.LimitedBy != "airtime" ||
		r.Unit != "" {
		t.Errorf("%+v", r)
	}
	r = fairnessOf(t, "30", "28", "9", "8")
	if !about(r.Total, 75) || r.Normalised != nil || r.Printed != nil || r.Airtime != nil || r.Distance != nil ||
		r.Optimum != nil {
		t.Errorf("without --max: %+v", r)
	}
	r = fairnessOf(t, "30Mbit,28000kbit", "0.009Gbit/s", "8000000bps", "--max", "400M,500M,50M,50M", "--capacity",
		"100Mbit")
	if !about(r.Total, 75) || r.Unit != "Mbit/s" || r.Optimum == nil || r.Optimum.LimitedBy != "both" ||
		math.Abs(r.Optimum.Total-100) > 1e-6 {
		t.Errorf("with units: %+v", r)
	}
	r = fairnessOf(t, "10", "10", "--max", "40,40", "--weights", "3,1")
	if r.Optimum == nil || fmt.Sprint(r.Optimum.Shares) != "[30 10]" || !about(r.Distance, math.Log(3)*3/4) {
		t.Errorf("with weights: %+v", r)
	}
	r = fairnessOf(t, "10", "0", "--max", "40,10", "--alpha", "inf")
	if r.Optimum == nil || fmt.Sprint(r.Optimum.Shares) != "[8 8]" || r.Distance != nil || r.Starved != 1 {
		t.Errorf("max-min: %+v", r)
	}
	out := mustRun(t, "fairness", "30", "28", "9", "8", "--max", "400,500,50,50")
	for _, want := range []string{"distance (nats)  0.869", "of rate/alone    0.831  optimum " +
		"1.000", "proportionally fair; it is limited by airtime"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if out := mustRun(t, "fairness", "300", "--max", "40"); !strings.Contains(out, "exceed the limits") {
		t.Errorf("rates that cannot be:\n%s", out)
	}
	if out := mustRun(t, "fairness", "3", "4"); !strings.Contains(out, "need --max") || strings.Contains(out, "NaN") {
		t.Errorf("without --max:\n%s", out)
	}
}

func TestFairnessMisused(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "no rates"},
		{"30 many", `"many" is neither`},
		{"30 28Mbit", "all or none"},
		{"30 28 --max 40Mbit,50Mbit", "all or none"},
		{"30Mbit 28Mbit --max 40,50", "all or none"},
		{"30 --capacity 1Gbit", "all or none"},
		{"30miles", "miles"},
		{"NaN", "NaN"},
		{"30 28 --max 40", "--max has 1 figure for 2 rates (1, 2)"},
		{"30 28 --max 40,0", `--max "0"`},
		{"30 28 --max 40,50 --weights 1", "--weights has 1 figure"},
		{"30 28 --max 40,50 --weights 1,0", `--weights "0"`},
		{"30 28 --weights 1,2", "needs --max"},
		{"30 --capacity 0", `--capacity "0"`},
		{"30 --alpha -1", `--alpha "-1"`},
		{"30 --alpha some", `--alpha "some"`},
		{"30 --by flow", "--by"},
		{"30 --least 1", "--least"},
		{"30 --result x", "one of them"},
		{"x.atr --by terminal", "flow, process and peer"},
		{"--result x --by peer", "terminal and flow"},
	} {
		stdout, stderr, status := run(t, append([]string{"fairness"}, strings.Fields(c.args)...)...)
		if status != statusMisuse || !strings.Contains(stderr, c.want) || stdout != "" ||
			strings.Count(stderr, "\n") != 2 {
			t.Errorf("airtide fairness %s: status %d, %q, %q", c.args, status, stdout, stderr)
		}
	}
	text := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(text, []byte("dear editor"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{text}, {"no-such-file.atr"}, {"--result", text}, {"--result", "nothing", "--results", t.TempDir()},
	} {
		if _, stderr, status := run(t, append([]string{"fairness"}, args...)...); status != statusFailed ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("airtide fairness %v: status %d, %q", args, status, stderr)
		}
	}
}

const twoTerminals = `name: two
duration: 4 s
warmup: 1 s
repeats: 2
terminals:
  phone: {radio: {standard: n, phy_rate: 65 Mbit/s}}
  tablet: {radio: {standard: n, phy_rate: 6.5 Mbit/s}}
servers: {server: }
path: {rate: 100 Mbit/s}
flows:
  upload: {from: terminals, to: server, protocol: tcp}
  check: {from: phone, to: server, protocol: ping}
sweep:
  - {over: path.rtt, values: [0 ms, 16 ms]}
measure:
  goodput: {quantity: goodput, flows: upload}
`

// ran makes the folder of a result as a lab leaves it: in repeat r the phone had 20 r Mbit/s and
// the tablet 2.
func ran(t *testing.T) *result.Folder {
	t.Helper()
	begun := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	p, err := plan.Read(t.Context(), "experiment.yaml", []byte(twoTerminals))
	if err != nil {
		t.Fatal(err)
	}
	f, err := result.Create(t.TempDir(), p, begun)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	for _, run := range f.Plan.Runs {
		a, err := f.Begin(run)
		if err != nil {
			t.Fatal(err)
		}
		r := result.New(f.Plan, run)
		r.Ended = begun.Add(5 * time.Second)
		r.Started = begun
		r.Valid = true
		r.Flows = []result.Flow{
			{Name: "upload1", From: "phone", To: "server", Protocol: "tcp", Direction: "both"},
			{Name: "upload2", From: "tablet", To: "server", Protocol: "tcp", Direction: "forward"},
			{Name: "check", From: "phone", To: "server", Protocol: "ping"},
		}
		r.Cell = &cell.Window{
			Terminals: []cell.TerminalWindow{{Name: "tablet"}, {Name: "phone"}},
			Flows: []cell.FlowWindow{
				{Name: "upload1", ForwardMbps: 15 * float64(run.Repeat), ReverseMbps: 5 * float64(run.Repeat)},
				{Name: "upload2", ForwardMbps: 2, ReverseMbps: 0.25},
				{Name: "check", ForwardMbps: 1, ReverseMbps: 1},
			},
		}
		if err := a.Finish(r); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func TestFairnessOfAResult(t *testing.T) {
	f := ran(t)
	var all struct {
		Experiment string
		Runs       []fairnessReport
		Means      []struct {
			Point      string
			Runs       int
			Total      *float64
			Normalised *float64 `json:"jain_normalised"`
			Airtime    *float64
		}
	}
	decodeFairness(t, &all, "--result", f.Dir, "--max", "5Mbit,50")
	if all.Experiment != "two" || len(all.Runs) != 4 || len(all.Means) != 2 {
		t.Fatalf("%+v", all)
	}
	first := all.Runs[0]
	if fmt.Sprint(first.Names, first.Rates) != "[tablet phone] [2 20]" || !about(first.Normalised, 1) ||
		first.Of != "terminal" ||
		first.Unit != "Mbit/s" {
		t.Errorf("%+v", first)
	}
	// 2/5 and 20/50, and 2/5 and 40/50
	for _, m := range all.Means {
		if m.Runs != 2 || !about(m.Total, 32) || !about(m.Normalised, (1+0.9)/2) || !about(m.Airtime, 1) {
			t.Errorf("%+v", m)
		}
	}
	one := filepath.Join(f.RunDir(f.Plan.Runs[0].ID), "result.json")
	r := fairnessOf(t, "--result", one, "--by", "flow")
	if fmt.Sprint(r.Names, r.Rates) != "[upload1 upload2] [20 2]" || r.Of != "flow" {
		t.Errorf("%+v", r)
	}
	out := mustRun(t, "fairness", "--result", f.Dir)
	if strings.Count(out, "mean of 2 runs at rtt=") != 2 || strings.Contains(out, "NaN") {
		t.Errorf("\n%s", out)
	}
	if _, stderr, status := run(t, "fairness", "--result", f.Dir, "--max", "1,2,3"); status != statusMisuse ||
		!strings.Contains(stderr, "tablet, phone") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

func TestTinyRatesAreCounted(t *testing.T) {
	for _, c := range []struct {
		rates []float64
		want  int
	}{{nil, 0}, {[]float64{30, 28}, 0}, {[]float64{7181, 0.002, 7.2, 7.1}, 2}} {
		if got := tiny(c.rates); got != c.want {
			t.Errorf("of %v %d are tiny, want %d", c.rates, got, c.want)
		}
	}
}
