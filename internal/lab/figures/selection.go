package figures

import (
	"cmp"
	"slices"
	"strings"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/internal/lab/result"
)

// selection is the part of a result that a figure shows.
type selection struct {
	*report.Report
	parameters []string
	points     []report.Point
	runs       []*result.Result
}

func selectAll(r *report.Report) *selection {
	return &selection{Report: r, parameters: r.Parameters, points: r.Points, runs: r.Finished()}
}

// at returns the runs in which swept parameters have the given values.
func (s *selection) at(values map[string]string) *selection {
	fixed := func(parameter string) bool { _, ok := values[parameter]; return ok }
	return &selection{
		Report:     s.Report,
		parameters: slices.DeleteFunc(slices.Clone(s.parameters), fixed),
		points: slices.DeleteFunc(slices.Clone(s.points), func(p report.Point) bool {
			return slices.ContainsFunc(p.Settings, func(s plan.Setting) bool {
				return fixed(s.Parameter) && values[s.Parameter] != s.Value.Text
			})
		}),
		runs: slices.DeleteFunc(slices.Clone(s.runs), func(run *result.Result) bool {
			for name, v := range values {
				if run.Settings[name].Text != v {
					return true
				}
			}
			return false
		}),
	}
}

// runsWith returns the runs with the given settings.
func (s *selection) runsWith(settings []plan.Setting) []*result.Result {
	var runs []*result.Result
	for _, run := range s.runs {
		differs := func(s plan.Setting) bool { return run.Settings[s.Parameter].Text != s.Value.Text }
		if !slices.ContainsFunc(settings, differs) {
			runs = append(runs, run)
		}
	}
	return runs
}

// firstWith returns the run of the lowest repeat with the given settings, at the first of their
// points in the order of the sweep; nil if none is finished.
func (s *selection) firstWith(settings []plan.Setting) *result.Result {
	runs := s.runsWith(settings)
	if len(runs) == 0 {
		return nil
	}
	place := map[string]int{}
	for i, p := range s.points {
		place[p.ID] = i
	}
	return slices.MinFunc(runs, func(a, b *result.Result) int {
		return cmp.Or(cmp.Compare(place[a.Point], place[b.Point]), cmp.Compare(a.Repeat, b.Repeat))
	})
}

// values returns the values of a swept parameter, in the order of the file.
func (s *selection) values(parameter string) []judge.Param {
	var values []judge.Param
	for _, p := range s.points {
		for _, setting := range p.Settings {
			same := func(v judge.Param) bool { return v.Text == setting.Value.Text }
			if setting.Parameter == parameter && !slices.ContainsFunc(values, same) {
				values = append(values, setting.Value)
			}
		}
	}
	return values
}

// combinations returns the combinations of values of some parameters in the sweep.
func (s *selection) combinations(parameters []string) [][]plan.Setting {
	var all [][]plan.Setting
	seen := map[string]bool{}
	for _, p := range s.points {
		var settings []plan.Setting
		var texts []string
		for _, name := range parameters {
			for _, setting := range p.Settings {
				if setting.Parameter == name {
					settings = append(settings, setting)
					texts = append(texts, setting.Value.Text)
				}
			}
		}
		if key := strings.Join(texts, "\x00"); !seen[key] {
			seen[key] = true
			all = append(all, settings)
		}
	}
	return all
}

// names returns the flows or terminals of a measurement, over all points.
func (s *selection) names(measurement string) []string {
	var names []string
	for i := range s.points {
		for _, e := range s.points[i].Measurement(measurement).Each {
			if !slices.Contains(names, e.Of) {
				names = append(names, e.Of)
			}
		}
	}
	return names
}

func (s *selection) measurement(name string) plan.Measurement {
	m, _ := s.Plan().Experiment.Measure.Get(name)
	return m
}

// takesEach reports whether a measurement keeps the value of each flow or terminal.
func (s *selection) takesEach(measurement string) bool {
	return s.measurement(measurement).Take == plan.Each
}
