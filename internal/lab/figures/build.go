package figures

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/internal/lab/result"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

// maxByFlow is the largest number of series of single flows or terminals in a panel. With more,
// their mean is drawn.
const maxByFlow = 8

// ErrNothing says that no run of a figure is finished.
var ErrNothing = errors.New("nothing to draw: no run of these points is finished")

// build describes a figure of a result.
func build(ctx context.Context, r *report.Report, f plan.Figure) (*chart, error) {
	s := selectAll(r)
	if len(s.runs) == 0 {
		return nil, ErrNothing
	}
	s = s.at(f.At)
	switch {
	case f.Plot != "":
		return s.plotted(ctx, f)
	case f.Kind == plan.Timeline:
		return s.timeline(ctx, f)
	case f.Kind == "scatter":
		return s.scatter(f), nil
	}
	c := newChart(cmp.Or(f.Title, r.Title))
	x := s.axis(f)
	c.X = x.Axis
	for _, group := range s.byUnit(f.Y) {
		p := figure.Panel{Left: s.valueAxis(group)}
		for _, y := range group {
			keys := s.keys(f, y, len(group) > 1)
			if len(keys.byFlow) > 0 && len(keys.byFlow) <= maxByFlow {
				keys.all = keys.byFlow
			} else if len(keys.byFlow) > 0 {
				p.Left.Label = "mean " + p.Left.Label
			}
			for _, k := range keys.all {
				p.Series = append(p.Series, s.sweptSeries(c, f, k, x))
			}
		}
		c.add(p)
	}
	c.Note = s.note(c, f)
	return c, nil
}

// sweptSeries adds a line, or bars, over the values of the x axis.
func (s *selection) sweptSeries(c *chart, f plan.Figure, k seriesKey, x parameterAxis) figure.Series {
	name := cmp.Or(k.label, onlyName(f, k.measurement))
	series := figure.Series{Name: name, Kind: figure.Line, Style: c.styleOf(name)}
	if f.Kind == "bars" {
		series.Kind = figure.Bars
	}
	if f.X == "" {
		series.Data = s.samplesByName(k)
	} else {
		series.Data = s.samplesAlong(f.X, k, x)
	}
	return series
}

// samplesAlong returns a sample for each value of a swept parameter, in the order of the axis.
func (s *selection) samplesAlong(parameter string, k seriesKey, x parameterAxis) []figure.Sample {
	var samples []figure.Sample
	for _, v := range s.values(parameter) {
		runs := s.runsWith(append(slices.Clone(k.settings), plan.Setting{Parameter: parameter, Value: v}))
		if values := k.values(runs); len(values) > 0 {
			samples = append(samples, s.sampleAt(x.place(v), values))
		}
	}
	slices.SortStableFunc(samples, func(a, b figure.Sample) int { return cmp.Compare(a.X, b.X) })
	return samples
}

// samplesByName returns a sample for each flow or terminal.
func (s *selection) samplesByName(k seriesKey) []figure.Sample {
	var samples []figure.Sample
	runs := s.runsWith(k.settings)
	for i, of := range s.names(k.measurement) {
		if values := report.ValuesOf(k.measurement, of, runs); len(values) > 0 {
			samples = append(samples, s.sampleAt(float64(i), values))
		}
	}
	return samples
}

// sampleAt returns the mean of values with its interval.
func (s *selection) sampleAt(x float64, values []float64) figure.Sample {
	sum := judge.Summarise(values, s.Plan().Experiment.Seed)
	return figure.Interval(x, sum.Mean, sum.Interval.Low, sum.Interval.High)
}

// axis returns the x axis of a swept parameter, or of flows or terminals by name.
func (s *selection) axis(f plan.Figure) parameterAxis {
	switch {
	case f.X == "":
		var values []judge.Param
		for _, y := range f.Y {
			for _, of := range s.names(y) {
				values = append(values, judge.Param{Text: of, Number: math.NaN()})
			}
		}
		return nameAxis("", values)
	case f.Kind == "bars":
		return nameAxis(f.X, s.values(f.X))
	}
	return axisOf(f.X, s.values(f.X))
}

// byUnit divides measurements into panels. Plain numbers share a panel if they are indices, or of
// the same quantity.
func (s *selection) byUnit(names []string) [][]string {
	var groups [][]string
	place := map[string]int{}
	for _, n := range names {
		m := s.measurement(n)
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
			place[unit] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], n)
	}
	return groups
}

// valueAxis returns the vertical axis of measurements with one unit. Its label is their common
// quantity, or only the unit if the quantities differ.
func (s *selection) valueAxis(group []string) figure.Axis {
	m := s.measurement(group[0])
	if len(group) == 1 {
		return valueAxis(words(group[0]), m.Unit())
	}
	for _, name := range group[1:] {
		if s.measurement(name).Quantity != m.Quantity {
			return valueAxis(m.Unit(), "")
		}
	}
	return valueAxis(words(string(m.Quantity)), m.Unit())
}

// seriesKey distinguishes a series from the others: by the values of some parameters, and by the
// flow or terminal.
type seriesKey struct {
	measurement string
	settings    []plan.Setting
	of          string
	label       string
}

func (k seriesKey) values(runs []*result.Result) []float64 {
	if k.of != "" {
		return report.ValuesOf(k.measurement, k.of, runs)
	}
	return report.Values(k.measurement, runs)
}

// seriesKeys are the series of a measurement: over all flows or terminals, and one for each flow or
// terminal if the measurement keeps them.
type seriesKeys struct{ all, byFlow []seriesKey }

// keys returns the series of a measurement. together is true if the measurement shares its panel
// with others.
func (s *selection) keys(f plan.Figure, measurement string, together bool) seriesKeys {
	var keys seriesKeys
	var ofs []string
	if s.takesEach(measurement) && f.X != "" {
		ofs = s.names(measurement)
	}
	for _, settings := range s.combinations(s.seriesParameters(f)) {
		label := settingsLabel(measurement, settings, together)
		keys.all = append(keys.all, seriesKey{measurement, settings, "", label})
		for _, of := range ofs {
			keys.byFlow = append(keys.byFlow, seriesKey{measurement, settings, of, list(label, of)})
		}
	}
	return keys
}

// settingsLabel returns the name of a series: its settings, and its measurement if the panel has
// several.
func settingsLabel(measurement string, settings []plan.Setting, together bool) string {
	var parts []string
	if together {
		parts = append(parts, words(measurement))
	}
	for _, s := range settings {
		parts = append(parts, s.Value.Text)
	}
	return strings.Join(parts, ", ")
}

// onlyName returns the name of a series without settings: its measurement, if the figure has
// several.
func onlyName(f plan.Figure, measurement string) string {
	if len(f.Y) == 1 {
		return ""
	}
	return words(measurement)
}

// seriesParameters returns the parameters with a series for each value.
func (s *selection) seriesParameters(f plan.Figure) []string {
	if len(f.Series) > 0 {
		return f.Series
	}
	return slices.DeleteFunc(slices.Clone(s.parameters), func(p string) bool { return p == f.X })
}

// note explains the error bars and counts the missing runs.
func (s *selection) note(c *chart, f plan.Figure) string {
	fewest := math.MaxInt
	most := 0
	for _, p := range s.points {
		if p.Runs > 0 {
			fewest = min(fewest, p.Runs)
			most = max(most, p.Runs)
		}
	}
	runs := units.Count(most, "run")
	if fewest != most {
		runs = fmt.Sprintf("%d to %d runs", fewest, most)
	}
	var parts []string
	switch {
	case f.Kind == "scatter":
		parts = append(parts, "small: one run; large: the mean of "+runs)
	case most == 1:
		parts = append(parts, "single runs: no error bars")
	default:
		parts = append(parts, "error bars: 95 % interval of the mean of "+runs)
	}
	if word := c.limitLegend("series"); word != "" {
		parts = append(parts, word)
	}
	if missing := s.Runs.Planned - s.Runs.Finished; missing > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d runs are missing", missing, s.Runs.Planned))
	}
	return strings.Join(parts, "; ")
}
