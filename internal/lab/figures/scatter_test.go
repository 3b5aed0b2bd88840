package figures

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"airtide/internal/lab/plan"
	"airtide/internal/view/figure"
	"airtide/test/results"
)

func TestScatterHasEachRunAndTheMeansWithTheirNames(t *testing.T) {
	r := reportOf(t, results.BenchScene().Make(t))
	f := plan.Figure{
		Kind: "scatter", X: "total", Y: plan.Names{"ping", "best"}, Series: plan.Names{"discipline"},
		At: plan.PointFilter{"rate": "1 Gbit/s"},
	}
	panels := chartOf(t, r, f).panelsOf()
	if len(panels) != 2 || panels[0].Left.Label != "ping" || panels[1].Left.Label != "best" {
		t.Fatalf("%d panels: %+v", len(panels), panels)
	}
	means := named(panels[0])
	if len(means) != 4 || len(panels[0].Series) != 8 {
		t.Fatalf("%d series, %d of them means, want the runs and the mean of four", len(panels[0].Series), len(means))
	}
	for i, mean := range means {
		runs := panels[0].Series[i]
		if len(runs.Data) != 4 || len(mean.Data) != 1 || runs.Style.Ink != mean.Style.Ink {
			t.Errorf("%s has %d points and %d means, want 4 and 1", mean.Name, len(runs.Data), len(mean.Data))
			continue
		}
		sum := 0.0
		for _, p := range runs.Data {
			sum += p.X
		}
		if math.Abs(mean.Data[0].X-sum/4) > 1e-9 {
			t.Errorf("%s: the mean lies at %g, want %g", mean.Name, mean.Data[0].X, sum/4)
		}
	}
	if !panels[0].Labels {
		t.Error("the names do not stand beside the markers")
	}

	f.At = nil // three rates of four disciplines: a mean for each
	panels = chartOf(t, r, f).panelsOf()
	if n := len(named(panels[0])[0].Data); n != 3 || !panels[0].Labels {
		t.Errorf("%d means of a discipline, want 3 with their names", n)
	}
	f.Series = nil // each of the twelve has a name of its own
	if c := chartOf(t, r, f); len(c.names) != 12 {
		t.Errorf("%d names, want 12", len(c.names))
	}
}

// TestScatterShowsGains: total and ping rise twofold from fifo to airtime_fair at each rate. x is
// that of fifo at the same rate.
func TestScatterShowsGains(t *testing.T) {
	r := reportOf(t, results.BenchScene().Make(t))
	f := plan.Figure{
		Kind: "scatter", X: "best", Y: plan.Names{"total"}, Series: plan.Names{"discipline"},
		RelativeTo: plan.PointFilter{"discipline": "fifo"},
	}
	c := chartOf(t, r, f)
	p := c.panelsOf()[0]
	means := named(p)
	if len(means) != 3 || p.Left.Label != "total over that of fifo" {
		t.Fatalf("%d series, labelled %q, want 3 gains", len(means), p.Left.Label)
	}
	var bases []float64
	for _, rate := range selectAll(r).values("rate") {
		base := selectAll(r).at(map[string]string{"rate": rate.Text, "discipline": "fifo"})
		bases = append(bases, stat.Mean(seriesKey{measurement: "best"}.values(base.runs), nil))
	}
	for _, mean := range means {
		gain := map[string]float64{"fifo_per_station": 0.95, "fq_codel": 1.2, "airtime_fair": 2}[mean.Name]
		if len(mean.Data) != 3 {
			t.Errorf("%s has %d gains, want one for each rate", mean.Name, len(mean.Data))
		}
		for _, point := range mean.Data {
			if math.Abs(point.First/gain-1) > 0.15 {
				t.Errorf("%s: a gain of %g, want %g", mean.Name, point.First, gain)
			}
			at := slices.IndexFunc(bases, func(x float64) bool { return math.Abs(point.X/x-1) < 1e-9 })
			if at < 0 {
				t.Errorf("%s: a gain lies at %g, want fifo's %v", mean.Name, point.X, bases)
			}
		}
	}
}

func TestScatterDrawsEachMarker(t *testing.T) {
	r := reportOf(t, results.BenchScene().Make(t))
	p := drawn(t, r, "tradeoff", figure.Options{DPI: 100})
	// fifo is drawn with discs: three means of four runs, and the legend.
	if n := p.Count("fill:#0072B2"); n != 3+1 {
		t.Errorf("%d large discs, want 3 and the legend's", n)
	}
	if n := p.Count("fill:#7FB8D8"); n != 12 {
		t.Errorf("%d small discs, want 12", n)
	}
}
