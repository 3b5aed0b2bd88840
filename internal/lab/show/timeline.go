package show

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// timeline is a figure over the time of runs: for each of the points, of the first run that is finished.
func (r *Report) timeline(f plan.Figure) (*chart, error) {
	c := &chart{title: cmp.Or(f.Title, r.Title), kind: steps, mark: math.NaN()}
	c.x = axis{title: "time (s)", automatic: true, gap: math.NaN()}
	courses := map[*result.Result]*courses{}
	repeats := map[int]bool{}
	for _, group := range r.byUnit(f.Y) {
		p := panel{title: r.panelTitle(group)}
		for _, y := range group {
			m, _ := r.plan.Experiment.Measure.Get(y)
			for _, settings := range r.combinations(r.seriesOf(f)) {
				run := r.first(settings)
				if run == nil {
					continue
				}
				if courses[run] == nil {
					read, err := r.readCourses(run)
					if err != nil {
						return nil, fmt.Errorf("run %s: %w", run.Run, err)
					}
					courses[run] = read
				}
				repeats[run.Repeat] = true
				c.x.high = max(c.x.high, run.DurationS)
				if run.WarmupS > 0 {
					c.mark = run.WarmupS
				}
				flows := run.Measurements[y].Of
				if len(f.Of) > 0 {
					flows = slices.DeleteFunc(slices.Clone(flows), func(name string) bool { return !slices.Contains(f.Of, name) })
				}
				for _, flow := range flows {
					label := r.timelineLabel(y, settings, flow, len(group) > 1, len(flows) > 1)
					p.series = append(p.series, series{index: c.index(cmp.Or(label, alone(f, y))), points: courses[run].of(m.Quantity, flow)})
				}
			}
		}
		c.panels = append(c.panels, p)
	}
	if len(repeats) == 0 {
		return nil, errors.New("nothing to draw: no run of these points is finished")
	}
	c.note = timelineNote(c, repeats)
	return c, nil
}

// first is the finished run of the least repeat.
func (r *Report) first(settings []plan.Setting) *result.Result {
	runs := r.runs(settings)
	if len(runs) == 0 {
		return nil
	}
	return slices.MinFunc(runs, func(a, b *result.Result) int { return cmp.Compare(a.Repeat, b.Repeat) })
}

func (r *Report) timelineLabel(measurement string, settings []plan.Setting, flow string, together, several bool) string {
	var parts []string
	if together {
		parts = append(parts, words(measurement))
	}
	for _, s := range settings {
		parts = append(parts, s.Value.Text)
	}
	if several {
		parts = append(parts, flow)
	}
	return strings.Join(parts, ", ")
}

func timelineNote(c *chart, repeats map[int]bool) string {
	text := "one run each"
	if len(repeats) == 1 {
		for n := range repeats {
			text = fmt.Sprintf("repeat %d", n)
		}
	}
	if !math.IsNaN(c.mark) {
		text += fmt.Sprintf("; measurements begin at %s s", short(c.mark))
	}
	return text
}
