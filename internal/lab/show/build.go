package show

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// chart makes a figure of the runs.
func (r *Report) chart(f plan.Figure) (*chart, error) {
	if len(r.results) == 0 {
		return nil, errors.New("nothing to draw: no run is finished")
	}
	r = r.within(f.At)
	if f.Kind == plan.Timeline {
		return r.timeline(f)
	}
	c := &chart{title: f.Title, mark: math.NaN(), kind: map[plan.FigureKind]chartKind{"bars": bars, "scatter": scatter}[f.Kind]}
	if c.title == "" {
		c.title = r.Title
	}
	parameters := r.seriesOf(f)
	c.x = r.axis(f, c.kind)
	groups := r.byUnit(f.Y)
	if c.kind == scatter { // what lies where is a measurement's own affair
		groups = nil
		for _, y := range f.Y {
			groups = append(groups, []string{y})
		}
	}
	for _, group := range groups {
		p := panel{title: r.panelTitle(group)}
		for _, y := range group {
			m, _ := r.plan.Experiment.Measure.Get(y)
			byFlow := m.Take == plan.Each && f.X != ""
			if lines := len(r.traits(y, parameters, false, true)); byFlow && lines > maxByFlow {
				byFlow = false
				p.title = "mean " + p.title
			}
			for _, t := range r.traits(y, parameters, len(group) > 1, byFlow) {
				name := cmp.Or(t.label, alone(f, y))
				if c.kind == scatter {
					name = t.label
				}
				s := series{index: c.index(name)}
				switch {
				case c.kind == scatter:
					s.points, s.of = r.scattered(f.X, t, c.x)
				case f.X == "":
					s.points = r.byName(t)
				default:
					s.points = r.along(f.X, t, c.x)
				}
				p.series = append(p.series, s)
			}
		}
		c.panels = append(c.panels, p)
	}
	c.note = r.note(c)
	return c, nil
}

// alone names a series that nothing tells from others of its measurement: by the measurement, where there are several.
func alone(f plan.Figure, measurement string) string {
	if len(f.Y) == 1 {
		return ""
	}
	return words(measurement)
}

// within is the report of only those runs in which swept parameters have the values of a place.
func (r *Report) within(place plan.Place) *Report {
	if len(place) == 0 {
		return r
	}
	part := *r
	part.Parameters = slices.DeleteFunc(slices.Clone(r.Parameters), func(p string) bool { _, fixed := place[p]; return fixed })
	part.Points = slices.DeleteFunc(slices.Clone(r.Points), func(p Point) bool {
		return slices.ContainsFunc(p.Settings, func(s plan.Setting) bool { v, fixed := place[s.Parameter]; return fixed && v != s.Value.Text })
	})
	part.results = slices.DeleteFunc(slices.Clone(r.results), func(run *result.Result) bool {
		for name, v := range place {
			if run.Settings[name].Text != v {
				return true
			}
		}
		return false
	})
	return &part
}

// seriesOf are the parameters whose values have series of their own.
func (r *Report) seriesOf(f plan.Figure) []string {
	if len(f.Series) > 0 {
		return f.Series
	}
	return slices.DeleteFunc(slices.Clone(r.Parameters), func(p string) bool { return p == f.X })
}

// maxByFlow is up to how many series there is one for each flow or terminal of a measurement that keeps each; with more,
// their mean is drawn.
const maxByFlow = 8

// index is a series' place among the names.
func (c *chart) index(name string) int {
	if i := slices.Index(c.names, name); i >= 0 {
		return i
	}
	c.names = append(c.names, name)
	return len(c.names) - 1
}

// byUnit parts measurements into panels. Plain numbers are together where they are indices, or of one quantity.
func (r *Report) byUnit(names []string) [][]string {
	var groups [][]string
	place := map[string]int{}
	for _, n := range names {
		m, _ := r.plan.Experiment.Measure.Get(n)
		unit := m.Unit()
		switch {
		case unit == "" && m.Take == plan.Jain:
			unit = "index"
		case unit == "":
			unit = "number of " + string(m.Quantity)
		}
		i, ok := place[unit]
		if !ok {
			i = len(groups)
			place[unit], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], n)
	}
	return groups
}

func (r *Report) panelTitle(group []string) string {
	m, _ := r.plan.Experiment.Measure.Get(group[0])
	if len(group) == 1 {
		return withUnit(words(group[0]), m.Unit())
	}
	quantity := words(string(m.Quantity))
	for _, name := range group[1:] {
		if other, _ := r.plan.Experiment.Measure.Get(name); other.Quantity != m.Quantity {
			return m.Unit()
		}
	}
	return withUnit(quantity, m.Unit())
}

// axis is the horizontal one: of a swept parameter, of a measurement, or of flows or terminals by name.
func (r *Report) axis(f plan.Figure, kind chartKind) axis {
	switch {
	case f.X == "":
		var values []judge.Param
		for _, y := range f.Y {
			for _, of := range r.names(y) {
				values = append(values, judge.Param{Text: of, Number: math.NaN()})
			}
		}
		return axisOf("", values)
	case slices.Contains(r.Parameters, f.X) && kind == bars:
		a := axis{title: words(f.X), gap: math.NaN()}
		a.categorical(r.values(f.X))
		return a
	case slices.Contains(r.Parameters, f.X):
		return axisOf(f.X, r.values(f.X))
	}
	m, _ := r.plan.Experiment.Measure.Get(f.X)
	high := 0.0
	for _, run := range r.results {
		for _, v := range run.Measurements[f.X].Values {
			high = max(high, v)
		}
	}
	if high == 0 {
		high = 1
	}
	return axis{title: withUnit(words(f.X), m.Unit()), high: high * 1.05, automatic: true, gap: math.NaN()}
}

// along has a point for each value of a swept parameter, in the order of the axis.
func (r *Report) along(x string, t trait, a axis) []point {
	var points []point
	for _, v := range r.values(x) {
		runs := r.runs(append(slices.Clone(t.settings), plan.Setting{Parameter: x, Value: v}))
		if values := t.values(runs); len(values) > 0 {
			points = append(points, r.pointAt(a.place(v), values))
		}
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.x, b.x) })
	return points
}

func (r *Report) pointAt(x float64, values []float64) point {
	s := r.summarise(values)
	return point{x, s.Mean, s.Interval.Low, s.Interval.High}
}

// byName has a point for each flow or terminal.
func (r *Report) byName(t trait) []point {
	var points []point
	runs := r.runs(t.settings)
	for i, of := range r.names(t.measurement) {
		if values := valuesFor(t.measurement, of, runs); len(values) > 0 {
			points = append(points, r.pointAt(float64(i), values))
		}
	}
	return points
}

// scattered has a point for each run, or for each flow or terminal of a run where both measurements have them, and the point of
// the sweep that it is of.
func (r *Report) scattered(x string, t trait, a axis) (points []point, of []string) {
	for _, run := range r.runs(t.settings) {
		add := func(x, y float64) {
			points, of = append(points, point{x, y, math.NaN(), math.NaN()}), append(of, run.Point)
		}
		values := t.values([]*result.Result{run})
		if len(values) == 0 {
			continue
		}
		if slices.Contains(r.Parameters, x) {
			add(a.place(run.Settings[x]), values[0])
			continue
		}
		other := trait{measurement: x}
		if m := run.Measurements[x]; slices.Contains(m.Of, t.of) {
			other.of = t.of
		}
		if xs := other.values([]*result.Result{run}); len(xs) > 0 {
			add(xs[0], values[0])
		}
	}
	return points, of
}

// note says what the error bars are, and what is missing.
func (r *Report) note(c *chart) string {
	fewest, most := math.MaxInt, 0
	for _, p := range r.Points {
		if p.Runs > 0 {
			fewest, most = min(fewest, p.Runs), max(most, p.Runs)
		}
	}
	runs := fmt.Sprintf("%d runs", most)
	if fewest != most {
		runs = fmt.Sprintf("%d to %d runs", fewest, most)
	}
	var text string
	switch {
	case c.kind == scatter:
		text = "small: one run; large: the mean of " + runs
	case most == 1:
		text = "single runs: no error bars"
	default:
		text = fmt.Sprintf("error bars: 95 %% interval of the mean of %s", runs)
	}
	if len(c.names) > maxEntries {
		text += fmt.Sprintf("; %d series, without a legend", len(c.names))
	}
	if missing := r.Runs.Planned - r.Runs.Finished; missing > 0 {
		text += fmt.Sprintf("; %d of %d runs are missing", missing, r.Runs.Planned)
	}
	return text
}
