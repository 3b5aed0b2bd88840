package show

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// Figures are the names of what can be drawn: the figures of the experiment, or where it has none one for each
// measurement that has something to draw.
func (r *Report) Figures() []string { return r.figures().Names() }

// WriteFigures draws all figures into files of a folder, which is made. Drew is told of each file that is written.
func (r *Report) WriteFigures(dir string, formats []string, o FigureOptions, drew Progress) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making a folder for figures: %w", err)
	}
	names, number := r.Figures(), 0
	for _, name := range names {
		for _, format := range formats {
			var b bytes.Buffer
			if err := r.DrawFigure(&b, format, name, o); err != nil {
				return err
			}
			path := filepath.Join(dir, name+"."+format)
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				return fmt.Errorf("writing a figure: %w", err)
			}
			number++
			drew.tell(path, number, len(names)*len(formats))
		}
	}
	return nil
}

// DrawFigure draws one figure by name, in a format of Formats.
func (r *Report) DrawFigure(w io.Writer, format, name string, o FigureOptions) error {
	f, ok := r.figures().Get(name)
	if !ok {
		return fmt.Errorf("figure %s: the experiment has none of this name, it has: %s", name, strings.Join(r.Figures(), ", "))
	}
	c, err := r.chart(f)
	if err != nil {
		return fmt.Errorf("figure %s: %w", name, err)
	}
	if err := write(w, format, c, o); err != nil {
		return fmt.Errorf("figure %s: %w", name, err)
	}
	return nil
}

// figures are the experiment's, or what follows from its sweep.
func (r *Report) figures() plan.Named[plan.Figure] {
	if f := r.plan.Experiment.Figures; len(f) > 0 {
		return f
	}
	figure := plan.Figure{Kind: "bars"}
	for _, p := range r.Parameters {
		if values := r.values(p); len(values) > 1 && !slices.ContainsFunc(values, func(v judge.Param) bool { return math.IsNaN(v.Number) }) {
			figure.Kind, figure.X = "lines", p
			break
		}
	}
	if figure.X == "" && len(r.Parameters) > 0 {
		figure.X = r.Parameters[0]
	}
	var all plan.Named[plan.Figure]
	for _, m := range r.plan.Experiment.Measure.Names() {
		if one := r.Points[0].measurement(m); figure.X == "" && (one.Take != plan.Each || len(one.Each) == 0) {
			continue // a single number
		}
		one := figure
		one.Y = plan.Names{m}
		all = append(all, plan.Item[plan.Figure]{Name: m, Is: one})
	}
	return all
}

// values are those that a swept parameter takes, in the order of the file.
func (r *Report) values(parameter string) []judge.Param {
	var values []judge.Param
	for _, p := range r.Points {
		for _, s := range p.Settings {
			if s.Parameter == parameter && !slices.ContainsFunc(values, func(v judge.Param) bool { return v.Text == s.Value.Text }) {
				values = append(values, s.Value)
			}
		}
	}
	return values
}

// trait is what tells a series from others: the values of some parameters, and the flow or terminal.
type trait struct {
	measurement string
	settings    []plan.Setting
	of          string
	label       string
}

// runs are those that a trait is about.
func (r *Report) runs(settings []plan.Setting) []*result.Result {
	var runs []*result.Result
	for _, one := range r.results {
		fits := true
		for _, s := range settings {
			fits = fits && one.Settings[s.Parameter].Text == s.Value.Text
		}
		if fits {
			runs = append(runs, one)
		}
	}
	return runs
}

// combinations are those of the values of some parameters that the sweep has.
func (r *Report) combinations(parameters []string) [][]plan.Setting {
	var all [][]plan.Setting
	seen := map[string]bool{}
	for _, p := range r.Points {
		var settings []plan.Setting
		for _, name := range parameters {
			for _, s := range p.Settings {
				if s.Parameter == name {
					settings = append(settings, s)
				}
			}
		}
		if k := key(settings); !seen[k] {
			seen[k] = true
			all = append(all, settings)
		}
	}
	return all
}

// traits are the series of a measurement. Together says that its panel has others, too.
func (r *Report) traits(measurement string, parameters []string, together, byFlow bool) []trait {
	ofs := []string{""}
	if byFlow {
		if names := r.names(measurement); len(names) > 1 {
			ofs = names
		}
	}
	var all []trait
	for _, settings := range r.combinations(parameters) {
		for _, of := range ofs {
			var parts []string
			if together {
				parts = append(parts, words(measurement))
			}
			for _, s := range settings {
				parts = append(parts, s.Value.Text)
			}
			all = append(all, trait{measurement, settings, of, strings.Join(append(parts, filled(of)...), ", ")})
		}
	}
	return all
}

// names are the flows or terminals of a measurement, over all points.
func (r *Report) names(measurement string) []string {
	var names []string
	for _, p := range r.Points {
		for _, e := range p.measurement(measurement).Each {
			if !slices.Contains(names, e.Of) {
				names = append(names, e.Of)
			}
		}
	}
	return names
}

func (t trait) values(runs []*result.Result) []float64 {
	if t.of != "" {
		return valuesFor(t.measurement, t.of, runs)
	}
	return valuesOf(t.measurement, runs)
}
