package show

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/test/results"
)

func TestCompareFindsDifferences(t *testing.T) {
	first := results.BenchScene()
	faster := results.BenchScene()
	faster.Seed = 9
	model := first.Model
	faster.Model = func(q plan.Quantity, s map[string]string, of string, i int) float64 {
		if q == "goodput" {
			return 2 * model(q, s, of, i)
		}
		return model(q, s, of, i)
	}
	// Another way to write a value is the same point; one value is new.
	faster.File = strings.NewReplacer("[10 Mbit/s, 100 Mbit/s, 1 Gbit/s]", "[100000 kbit/s, 1 Gbit/s]",
		"  best: {quantity: goodput, take: max}\n", "",
		"y: [total, best, ping]", "y: [total, ping]",
		"  each_tradeoff: {kind: scatter, title: Each flow, x: best, y: goodput, series: discipline}\n", "",
		"airtime: {quantity: airtime, take: each}", "airtime: {quantity: airtime, take: sum}").Replace(results.Bench)
	faster.Model = func(q plan.Quantity, s map[string]string, of string, i int) float64 {
		written := map[string]string{
			"discipline": s["discipline"], "rate": strings.Replace(s["rate"], "100000 kbit/s", "100 Mbit/s", 1),
		}
		if q == "goodput" {
			return 2 * model(q, written, of, i)
		}
		return model(q, written, of, i)
	}
	a := reportOf(t, first.Make(t))
	b := reportOf(t, faster.Make(t))
	c, err := report.Compare(t.Context(), nil, a, b)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Points {
		switch p.Measurement {
		case "total":
			if p.Significant == nil || !*p.Significant || math.Abs(*p.Ratio-2) > 0.4 {
				t.Errorf("twice the goodput was not found: %+v", p)
			}
			if i := p.Difference.Interval; i.Low > p.Difference.Value || i.High < p.Difference.Value {
				t.Errorf("the difference lies outside its interval: %+v", p.Difference)
			}
		case "airtime", "best":
			t.Errorf("%s is not in both, or not the same, and was compared", p.Measurement)
		}
	}
	// Three measurements at two rates and four disciplines.
	if len(c.Points) != 3*8 || c.Intervals != 24 || c.Significant < 16 || c.Significant > 20 {
		t.Errorf("%d compared, %d with an interval, %d significant", len(c.Points), c.Intervals, c.Significant)
	}
	out := printed(t, func(b *bytes.Buffer) error { return WriteComparison(b, c, TextOptions{}) })
	contains(t, out, "A "+a.Dir, "B "+b.Dir, "total (Mbit/s)",
		"discipline rate first other difference 95 % interval ratio significant", "B - A",
		"point discipline=fifo,rate=10Mbits is only in "+a.Dir, "measurement best is only in "+a.Dir,
		"measurement airtime is each of airtime in "+a.Dir,
		"chance would find 1.200")
	if !json.Valid([]byte(printed(t, func(b *bytes.Buffer) error { return WriteJSON(b, c) }))) {
		t.Error("not JSON")
	}
	csv := printed(t, func(b *bytes.Buffer) error { return WriteComparisonCSV(b, c) })
	if rows := strings.Count(csv, "\n"); rows != 25 {
		t.Errorf("%d rows", rows)
	}
}

// The same cell twice: chance may find some differences, but few.
func TestCompareFindsLittleIfNothingDiffers(t *testing.T) {
	one := results.BenchScene()
	other := results.BenchScene()
	other.Seed = 77
	c, err := report.Compare(t.Context(), nil, reportOf(t, one.Make(t)), reportOf(t, other.Make(t)))
	if err != nil {
		t.Fatal(err)
	}
	if c.Intervals != 60 || c.Significant > 8 {
		t.Errorf("%d of %d differences are significant", c.Significant, c.Intervals)
	}
}

func TestCompareThreeOfDifferentExperiments(t *testing.T) {
	quick := reportOf(t, results.Quickstart(t).Make(t))
	single := results.Quickstart(t)
	single.File = strings.NewReplacer("name: quickstart", "name: quick-once", "repeats: 2",
		"repeats: 1").Replace(single.File)
	again := reportOf(t, single.Make(t))
	c, err := report.Compare(t.Context(), nil, quick, again, quick)
	if err != nil {
		t.Fatal(err)
	}
	out := printed(t, func(b *bytes.Buffer) error { return WriteComparison(b, c, TextOptions{}) })
	contains(t, out, "C "+quick.Dir, "B - A", "C - A", "one run")
	if c.Intervals != 6 { // single runs have none
		t.Errorf("%d intervals", c.Intervals)
	}
	_, err = report.Compare(t.Context(), nil, quick, reportOf(t, results.BenchScene().Make(t)))
	if err == nil || !strings.Contains(err.Error(), "they share nothing") {
		t.Errorf("nothing in common: %v", err)
	}
	_, err = report.Compare(t.Context(), nil, quick)
	if err == nil {
		t.Error("one result was compared")
	}
}
