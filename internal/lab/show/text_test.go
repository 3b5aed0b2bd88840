package show

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"airtide/internal/cell"
	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/internal/lab/result"
	"airtide/test/results"
)

// contains fails the test unless a text has all of some parts, whatever the spaces.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	squeezed := strings.Join(strings.Fields(text), " ")
	for _, part := range parts {
		if !strings.Contains(squeezed, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

// exactly has values without noise, so that the figures can be worked out by hand: 19, 20, 21 in
// the three repeats.
func exactly(t *testing.T) string {
	t.Helper()
	const file = `name: exact
title: Worked out by hand
source: a slate
repeats: 3
terminals:
  phone: {radio: {standard: n, phy_rate: 65 Mbit/s}}
  tablet: {radio: {standard: n, phy_rate: 65 Mbit/s}}
servers:
  server:
flows:
  upload: {from: terminals, to: server, protocol: tcp}
measure:
  goodput: {quantity: goodput, take: each}
  total: {quantity: goodput, take: sum}
claims:
  fast: {says: It is fast, where: page 1, holds: mean(total) > 1}
  slow: {says: It is slow, holds: mean(total) < 1}
  close: {says: It is below 31, holds: mean(total) < 31}
`
	s := results.Scene{File: file, Model: func(plan.Quantity, map[string]string, string, int) float64 { return 1 }}
	s.Touch = func(r *result.Result) {
		for name, m := range r.Measurements {
			x := 18 + float64(r.Repeat)
			take, _ := map[string]plan.Take{"goodput": plan.Each, "total": plan.Sum}[name]
			r.Measurements[name] = result.NewMeasurement(plan.Measurement{Quantity: "goodput", Take: take}, m.Of,
				[]float64{x, x / 2})
		}
	}
	return s.Make(t)
}

func TestTablesHaveTheMeasurements(t *testing.T) {
	r := reportOf(t, exactly(t))
	out := printed(t, func(b *bytes.Buffer) error { return WriteText(b, r, TextOptions{}) })
	contains(t, out,
		"exact: Worked out by hand", "repeats a slate", "3 of 3 runs finished",
		"goodput (Mbit/s) of mean sd median 95 % interval runs Jain",
		// Jain of (x, x/2): 2.25 / (2 * 1.25)
		"mean 15.00 0.7500 15.00", "3 0.9000",
		"upload1 20.00 1.000 20.00", "upload2 10.00 0.5000 10.00",
		"total (Mbit/s), goodput, sum of a run mean sd median 95 % interval runs 30.00 1.500 30.00",
		"claims: 1 held, 1 not held, 1 not decided",
		`"It is fast", page 1 mean(total) = 30`,
		"> 1, 3 runs: held", "< 1, 3 runs: not held", "straddles the limit",
	)
	if strings.Contains(out, "\x1b") {
		t.Error("colours without being asked for")
	}
	coloured := printed(t, func(b *bytes.Buffer) error { return WriteText(b, r, TextOptions{Colour: true}) })
	contains(t, coloured, "\x1b[31mnot held", "\x1b[33mnot decided")
	if !r.Refuted() {
		t.Error("no claim is said to be refuted")
	}
	each := printed(t, func(b *bytes.Buffer) error { return WriteText(b, r, TextOptions{Each: true}) })
	contains(t, each, "sum 30.00", "upload1 20.00")
}

func TestSweepIsInTheColumns(t *testing.T) {
	r := reportOf(t, results.FigureEight(t).Make(t))
	out := printed(t, func(b *bytes.Buffer) error { return WriteText(b, r, TextOptions{}) })
	contains(t, out, "rtt system direction mean sd median 95 % interval runs", "512 ms android-x86-2010 reverse 1.",
		fmt.Sprintf("%d held, 0 not held", len(r.Claims)),
		"server_to_android_falls_throughout", "It falls extremely.", "figure 8")
	if r.Refuted() {
		t.Error("a claim is said to be refuted")
	}
}

func TestMissingAndFailedRunsAreListed(t *testing.T) {
	s := results.Quickstart(t)
	s.File = strings.Replace(s.File, "repeats: 2", "repeats: 4", 1)
	s.Skip = func(_ plan.Run, n int) bool { return n == 1 }
	s.Touch = func(r *result.Result) {
		r.Warnings = []string{"the engine runs at ordinary priority"}
		if r.Repeat == 3 {
			m := r.Measurements["srtt"]
			m.Values[0] = math.NaN()
			r.System.Kernel = "another"
		}
	}
	dir := s.Make(t)
	f, err := result.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	f, err = f.Resume(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := f.Begin(f.Plan.Runs[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Fail("the engine fell behind", nil); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := os.Truncate(filepath.Join(dir, "runs", "r=4", "result.json"), 10); err != nil {
		t.Fatal(err)
	}
	r := reportOf(t, dir)
	contains(t, printed(t, func(b *bytes.Buffer) error { return WriteText(b, r, TextOptions{}) }),
		"2 of 4 runs finished", "missing: r=2", "unreadable: "+dir+"/runs/r=4/result.json",
		"failed: r=2, attempt 1: the engine fell behind",
		"the engine runs at ordinary priority (in 2 of 2 runs)", "1 of 2 of the runs lack values of srtt", "2 kernels")
	if fmt.Sprint(r.Runs.Missing) != "[r=2]" {
		t.Errorf("missing are %v, with the unreadable run", r.Runs.Missing)
	}
	if srtt := r.Points[0].Measurement("srtt").Summary; srtt.Runs != 1 || math.IsNaN(srtt.Mean) {
		t.Errorf("srtt over the runs that have it: %+v", srtt)
	}
}

// An interrupted experiment is shown as far as it went, and nothing breaks before the first run.
func TestResultWithoutRuns(t *testing.T) {
	s := results.FigureEight(t)
	s.Skip = func(plan.Run, int) bool { return true }
	r := reportOf(t, s.Make(t))
	contains(t, printed(t, func(b *bytes.Buffer) error { return WriteText(b, r, TextOptions{}) }),
		"0 of 48 runs finished", "and 38 more", "- - - - 0",
		fmt.Sprintf("0 held, 0 not held, %d not decided", len(r.Claims)))
	printed(t, func(b *bytes.Buffer) error { return WriteJSON(b, r) })
	printed(t, func(b *bytes.Buffer) error { return WriteCSV(b, r) })
}

func TestJSONAndCSVHaveTheSameFigures(t *testing.T) {
	r := reportOf(t, exactly(t))
	var back struct {
		Experiment string
		Runs       struct{ Planned, Finished int }
		Points     []struct {
			Runs         int
			Measurements []struct {
				Name, Unit, Take string
				Summary          struct {
					Mean, SD, Median float64
					Interval         judge.Interval
				}
				Jain *struct{ Mean float64 }
				Each []struct {
					Of      string
					Summary struct{ Mean float64 }
				}
			}
		}
		Claims []struct {
			Name, Says string
			Verdict    struct{ Outcome, Text string }
		}
	}
	data := printed(t, func(b *bytes.Buffer) error { return WriteJSON(b, r) })
	if err := json.Unmarshal([]byte(data), &back); err != nil {
		t.Fatal(err)
	}
	m := back.Points[0].Measurements[0]
	if back.Experiment != "exact" || back.Runs.Finished != 3 || m.Name != "goodput" || m.Unit != "Mbit/s" ||
		m.Summary.Mean != 15 || m.Summary.SD != 0.75 || math.Abs(m.Jain.Mean-0.9) > 1e-9 ||
		m.Each[1].Of != "upload2" || m.Each[1].Summary.Mean != 10 || back.Claims[1].Verdict.Outcome != "not held" {
		t.Errorf("got %+v", back)
	}
	rows, err := csv.NewReader(strings.NewReader(printed(t,
		func(b *bytes.Buffer) error { return WriteCSV(b, r) }))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	if len(rows) != 1+6 {
		t.Errorf("%d rows, want a head, two measurements and their two flows each", len(rows))
	}
	for i, want := range []struct{ measurement, of, mean, jain string }{
		{"goodput", "", "15", "0.9"},
		{"goodput", "upload1", "20", ""},
		{"goodput", "upload2", "10", ""},
		{"total", "", "30", ""},
	} {
		row := rows[i+1]
		if row[column["measurement"]] != want.measurement || row[column["of"]] != want.of ||
			row[column["mean"]] != want.mean {
			t.Errorf("row %d: %v", i, row)
		}
		if jain, _ := strconv.ParseFloat(row[column["jain"]], 64); want.jain != "" && math.Abs(jain-0.9) > 1e-9 {
			t.Errorf("row %d: Jain %v", i, jain)
		}
	}
}

func TestNumbersHaveFourDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 94.15: "94.15", 0.01234: "0.01234", 123456: "123456", -3.14159: "-3.142", 1e-7: "0.000000100",
		999.99: "1000",
	} {
		if got := number(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
	if got := number(math.NaN()); got != absent {
		t.Errorf("no number is written %s", got)
	}
}

func TestWarningsOfTheEngineAreListed(t *testing.T) {
	s := results.Quickstart(t)
	s.Touch = func(r *result.Result) {
		r.Warnings = []string{"it runs at ordinary priority"}
		r.Engine = &cell.EngineStatus{Warnings: []string{"it runs at ordinary priority", "7 packets were lost"}}
	}
	r := reportOf(t, s.Make(t))
	contains(t, printed(t, func(b *bytes.Buffer) error { return WriteText(b, r, TextOptions{}) }),
		"it runs at ordinary priority (in 2 of 2 runs)", "7 packets were lost (in 2 of 2 runs)")
}

func TestControlCharactersDoNotReachTheTerminal(t *testing.T) {
	for _, colour := range []bool{false, true} {
		r := reportOf(t, exactly(t))
		r.Title = "\x1b]0;owned\a\nforged title"
		r.Source = "=cmd\nforged source"
		r.Warnings = []string{"\x1b[2Jcleared"}
		r.Claims = []report.Claim{{Name: "c", Says: "x", Where: "here\nforged place"}}
		var out bytes.Buffer
		if err := WriteText(&out, r, TextOptions{Colour: colour}); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"\a", "\x1b]", "\x1b[2J", "\nforged"} {
			if strings.Contains(out.String(), bad) {
				t.Errorf("%q is in %q", bad, out.String())
			}
		}
	}
}
