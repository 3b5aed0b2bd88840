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

// Markers of a scatter plot: radius in points.
const (
	runRadius  = 1.5
	meanRadius = 3.6
	maxLabels  = 12 // names that fit beside markers
)

// scatter returns a chart with a small marker for each run and a large one for each mean, and a
// panel for each measurement.
func (s *selection) scatter(f plan.Figure) *chart {
	c := newChart(cmp.Or(f.Title, s.Title))
	place := func(judge.Param) float64 { return math.NaN() }
	if slices.Contains(s.parameters, f.X) {
		x := axisOf(f.X, s.values(f.X))
		c.X = x.Axis
		place = x.place
	} else {
		c.X = valueAxis(words(f.X), s.measurement(f.X).Unit())
	}
	if len(f.RelativeTo) > 0 {
		c.X.Label += " of " + f.RelativeTo.String()
		c.X.Floating = true // an index near 1 would crowd at the edge
	}
	labels := true
	for _, y := range f.Y {
		p := figure.Panel{Left: s.valueAxis([]string{y})}
		if len(f.RelativeTo) > 0 {
			p.Left = valueAxis(words(y)+" over that of "+f.RelativeTo.String(), "")
		}
		keys := s.keys(f, y, false)
		if n := len(keys.byFlow); n > 0 && n <= maxByFlow {
			keys.all = keys.byFlow
		} else if n > 0 {
			p.Left.Label = "mean " + p.Left.Label
		}
		var runs, means []figure.Series
		markers := 0
		for _, k := range keys.all {
			points := s.scatterPoints(f, k, place)
			if len(points) == 0 && len(f.RelativeTo) > 0 {
				continue // the base of the other runs
			}
			style := c.styleOf(k.label)
			middle := meansOf(points)
			markers += len(middle)
			style.Radius = meanRadius
			means = append(means, figure.Series{Name: k.label, Kind: figure.Points, Style: style, Data: middle})
			style.Radius = runRadius
			style.Tinted = true
			if len(points) > len(middle) {
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

// scatterPoint is the marker of a run, or of a flow or terminal in it, with its point of the sweep.
type scatterPoint struct {
	x, y  float64
	point string
}

// scatterPoints returns a marker for each run of a series that has both values. In a relative
// figure, y is divided by the mean of the runs that f.RelativeTo names, and x is the mean of these
// runs.
func (s *selection) scatterPoints(f plan.Figure, k seriesKey, place func(judge.Param) float64) (points []scatterPoint) {
	for _, run := range s.runsWith(k.settings) {
		p := s.scatterPoint(f.X, k, run, place)
		if len(f.RelativeTo) > 0 {
			base := s.baseOf(run, f.RelativeTo)
			if slices.Contains(base, run) {
				continue
			}
			sum := scatterPoint{}
			for _, run := range base {
				b := s.scatterPoint(f.X, k, run, place)
				sum.x += b.x
				sum.y += b.y
			}
			p.x = sum.x / float64(len(base))
			p.y = p.y * float64(len(base)) / sum.y
		}
		if !math.IsNaN(p.x) && !math.IsNaN(p.y) {
			points = append(points, p)
		}
	}
	return points
}

// scatterPoint returns the marker of one run. Missing values are NaN.
func (s *selection) scatterPoint(
	x string, k seriesKey, run *result.Result, place func(judge.Param) float64,
) scatterPoint {
	p := scatterPoint{math.NaN(), math.NaN(), run.Point}
	if values := k.values([]*result.Result{run}); len(values) > 0 {
		p.y = values[0]
	}
	if slices.Contains(s.parameters, x) {
		p.x = place(run.Settings[x])
		return p
	}
	other := seriesKey{measurement: x}
	if slices.Contains(run.Measurements[x].Of, k.of) {
		other.of = k.of
	}
	if xs := other.values([]*result.Result{run}); len(xs) > 0 {
		p.x = xs[0]
	}
	return p
}

// baseOf returns the runs whose settings equal those of a run, except for the given ones.
func (s *selection) baseOf(run *result.Result, given plan.PointFilter) []*result.Result {
	var settings []plan.Setting
	for _, name := range s.parameters {
		value := run.Settings[name]
		if text, ok := given[name]; ok {
			value = judge.Param{Text: text}
		}
		settings = append(settings, plan.Setting{Parameter: name, Value: value})
	}
	return s.runsWith(settings)
}

func samplesOf(points []scatterPoint) []figure.Sample {
	samples := make([]figure.Sample, len(points))
	for i, p := range points {
		samples[i] = figure.Point(p.x, p.y)
	}
	return samples
}

// meansOf returns the mean of the markers at each point of the sweep.
func meansOf(points []scatterPoint) (means []figure.Sample) {
	var names []string
	sums := map[string]*struct{ x, y, n float64 }{}
	for _, p := range points {
		if sums[p.point] == nil {
			names = append(names, p.point)
			sums[p.point] = &struct{ x, y, n float64 }{}
		}
		sum := sums[p.point]
		sum.x += p.x
		sum.y += p.y
		sum.n++
	}
	for _, name := range names {
		sum := sums[name]
		means = append(means, figure.Point(sum.x/sum.n, sum.y/sum.n))
	}
	return means
}
