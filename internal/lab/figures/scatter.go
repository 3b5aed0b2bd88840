package figures

import (
	"cmp"
	"math"
	"slices"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/view/figure"
)

// Markers of a scatter plot, radius in points.
const (
	runRadius  = 1.5
	meanRadius = 3.6
	maxLabels  = 12 // names that have room beside markers
)

// scatter has a small marker for each run and a large one for each mean, one panel for each
// measurement.
func (s *selection) scatter(f plan.Figure) *chart {
	c := newChart(cmp.Or(f.Title, s.Title))
	place := func(judge.Param) float64 { return math.NaN() }
	if slices.Contains(s.parameters, f.X) {
		x := axisOf(f.X, s.values(f.X))
		c.X, place = x.Axis, x.place
	} else {
		c.X = valueAxis(words(f.X), s.measurement(f.X).Unit())
	}
	labels := true
	for _, y := range f.Y {
		p := figure.Panel{Left: s.valueAxis([]string{y})}
		keys := s.keys(f, y, false)
		if n := len(keys.byFlow); n > 0 && n <= maxByFlow {
			keys.all = keys.byFlow
		} else if n > 0 {
			p.Left.Label = "mean " + p.Left.Label
		}
		var runs, means []figure.Series
		markers := 0
		for _, k := range keys.all {
			style := c.styleOf(k.label)
			points := s.scatterPoints(f.X, k, place)
			middle := meansOf(points)
			markers += len(middle)
			style.Radius = meanRadius
			means = append(means, figure.Series{Name: k.label, Kind: figure.Points, Style: style, Data: middle})
			if style.Radius, style.Tinted = runRadius, true; len(points) > len(middle) {
				runs = append(runs, figure.Series{Kind: figure.Points, Style: style, Data: samplesOf(points)})
			}
		}
		labels = labels && markers <= maxLabels
		p.Series = append(runs, means...)
		c.add(p)
	}
	for i := range c.Cells[0].Panels {
		c.Cells[0].Panels[i].Labels = labels
	}
	c.Note = s.note(c, f)
	return c
}

// scatterPoint is a run, or a flow or terminal of a run, and its point of the sweep.
type scatterPoint struct {
	x, y  float64
	point string
}

// scatterPoints has a point for each run of a series that has both values.
func (s *selection) scatterPoints(x string, k seriesKey, place func(judge.Param) float64) (points []scatterPoint) {
	for _, run := range s.runsWith(k.settings) {
		values := k.values([]*result.Result{run})
		if len(values) == 0 {
			continue
		}
		at := math.NaN()
		if slices.Contains(s.parameters, x) {
			at = place(run.Settings[x])
		} else {
			other := seriesKey{measurement: x}
			if slices.Contains(run.Measurements[x].Of, k.of) {
				other.of = k.of
			}
			if xs := other.values([]*result.Result{run}); len(xs) > 0 {
				at = xs[0]
			}
		}
		if !math.IsNaN(at) && !math.IsNaN(values[0]) {
			points = append(points, scatterPoint{at, values[0], run.Point})
		}
	}
	return points
}

func samplesOf(points []scatterPoint) []figure.Sample {
	samples := make([]figure.Sample, len(points))
	for i, p := range points {
		samples[i] = figure.Point(p.x, p.y)
	}
	return samples
}

// meansOf are the means of the points of each point of the sweep.
func meansOf(points []scatterPoint) (means []figure.Sample) {
	var names []string
	sums := map[string]*struct{ x, y, n float64 }{}
	for _, p := range points {
		if sums[p.point] == nil {
			names, sums[p.point] = append(names, p.point), &struct{ x, y, n float64 }{}
		}
		sum := sums[p.point]
		sum.x, sum.y, sum.n = sum.x+p.x, sum.y+p.y, sum.n+1
	}
	for _, name := range names {
		sum := sums[name]
		means = append(means, figure.Point(sum.x/sum.n, sum.y/sum.n))
	}
	return means
}
