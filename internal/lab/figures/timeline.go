package figures

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/view/figure"
)

// timeline draws a figure over time, with the first finished run of each point.
func (s *selection) timeline(ctx context.Context, f plan.Figure) (*chart, error) {
	t := timeline{selection: s, chart: newChart(cmp.Or(f.Title, s.Title)), f: f, read: map[*result.Result]*timeSeries{}}
	for _, group := range s.byUnit(f.Y) {
		p := figure.Panel{Left: s.valueAxis(group)}
		for _, y := range group {
			for _, settings := range s.combinations(s.seriesParameters(f)) {
				series, err := t.series(ctx, y, settings, len(group) > 1)
				if err != nil {
					return nil, err
				}
				p.Series = append(p.Series, series...)
			}
		}
		t.add(p)
	}
	if len(t.repeats) == 0 {
		return nil, ErrNothing
	}
	t.X = timeAxis(0, t.duration)
	t.markWarmup(t.warmup)
	t.Note = t.note()
	return t.chart, nil
}

// timeline is a figure over time under construction.
type timeline struct {
	*selection
	*chart
	f        plan.Figure
	read     map[*result.Result]*timeSeries
	repeats  []int
	duration float64 // duration of the longest run, seconds
	warmup   float64 // seconds; zero without a warm-up
}

// series returns the series of a measurement in the first run with the given settings, one for each
// flow.
func (t *timeline) series(
	ctx context.Context, measurement string, settings []plan.Setting, together bool,
) ([]figure.Series, error) {
	run := t.firstWith(settings)
	if run == nil {
		return nil, nil
	}
	if t.read[run] == nil {
		read, err := readTimeSeries(ctx, t.Report, run)
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", run.Run, err)
		}
		t.read[run] = read
	}
	if !slices.Contains(t.repeats, run.Repeat) {
		t.repeats = append(t.repeats, run.Repeat)
	}
	t.duration = max(t.duration, run.DurationS)
	t.warmup = max(t.warmup, run.WarmupS)
	flows := slices.Clone(run.Measurements[measurement].Of)
	if len(t.f.Of) > 0 {
		flows = slices.DeleteFunc(flows, func(name string) bool { return !slices.Contains(t.f.Of, name) })
	}
	var all []figure.Series
	for _, flow := range flows {
		label := settingsLabel(measurement, settings, together)
		if len(flows) > 1 {
			label = list(label, flow)
		}
		name := cmp.Or(label, onlyName(t.f, measurement))
		all = append(all, figure.Series{
			Name: name, Kind: figure.Line, Style: t.lineStyleOf(name),
			Data: t.read[run].of(t.measurement(measurement).Quantity, flow),
		})
	}
	return all, nil
}

func (t *timeline) note() string {
	parts := []string{"one run each"}
	switch {
	case len(t.read) == 1:
		for run := range t.read {
			parts[0] = "run " + run.Run
		}
	case len(t.repeats) == 1:
		parts[0] = fmt.Sprintf("repeat %d of each point", t.repeats[0])
	}
	if t.warmup > 0 {
		parts = append(parts, warmupNote(t.warmup))
	}
	if word := t.limitLegend("series"); word != "" {
		parts = append(parts, word)
	}
	return strings.Join(parts, "; ")
}

// timeAxis returns the x axis of times between two limits in seconds.
func timeAxis(from, to float64) figure.Axis {
	from *= 1e9
	to *= 1e9
	return figure.Axis{Label: "time", Kind: figure.Time, Min: &from, Max: &to}
}

// markWarmup draws a line at the end of the warm-up, given in seconds.
func (c *chart) markWarmup(warmup float64) {
	if warmup <= 0 {
		return
	}
	for i := range c.Cells[0].Panels {
		p := &c.Cells[0].Panels[i]
		p.Rules = append(p.Rules, figure.Rule{X: warmup * 1e9, Name: "measurements begin"})
	}
}

func warmupNote(warmup float64) string {
	return fmt.Sprintf("measurements begin at %s s", plainNumber(warmup))
}
