package figures

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/internal/sys/file"
	"airtide/internal/view/figure"
)

// Names returns the names of an experiment's figures. Without figures in the file, each measurement
// with several values has one.
func Names(r *report.Report) []string { return figuresOf(r).Names() }

// Draw draws one figure by name, in a format of figure.Formats.
func Draw(ctx context.Context, w io.Writer, format string, r *report.Report, name string, o figure.Options) error {
	f, ok := figuresOf(r).Get(name)
	if !ok {
		return fmt.Errorf("figure %s: the experiment has none of this name, it has: %s",
			name, strings.Join(Names(r), ", "))
	}
	c, err := build(ctx, r, f)
	if err == nil {
		err = c.Write(w, format, o)
	}
	if err != nil {
		return fmt.Errorf("figure %s: %w", name, err)
	}
	return nil
}

// WriteAll draws all figures into files in a folder, which it makes. It calls written after each
// file.
func WriteAll(
	ctx context.Context, r *report.Report, dir string, formats []string, o figure.Options, written report.Progress,
) error {
	if err := file.MakeFolder(dir); err != nil {
		return fmt.Errorf("making a folder for figures: %w", err)
	}
	names := Names(r)
	number := 0
	for _, name := range names {
		for _, format := range formats {
			if err := ctx.Err(); err != nil {
				return err
			}
			var b bytes.Buffer
			if err := Draw(ctx, &b, format, r, name, o); err != nil {
				return err
			}
			path := filepath.Join(dir, name+"."+format)
			if err := file.WriteOutput(path, b.Bytes()); err != nil {
				return fmt.Errorf("writing a figure: %w", err)
			}
			number++
			if written != nil {
				written(path, number, len(names)*len(formats))
			}
		}
	}
	return nil
}

// figuresOf returns the experiment's figures, or else the figures that follow from its sweep.
func figuresOf(r *report.Report) plan.Named[plan.Figure] {
	e := r.Plan().Experiment
	if len(e.Figures) > 0 {
		return e.Figures
	}
	s := selectAll(r)
	f := plan.Figure{Kind: "bars"}
	for _, p := range s.parameters {
		if values := s.values(p); len(values) > 1 && allNumbers(values) {
			f.Kind = "lines"
			f.X = p
			break
		}
	}
	if f.X == "" && len(s.parameters) > 0 {
		f.X = s.parameters[0]
	}
	var all plan.Named[plan.Figure]
	for _, m := range e.Measure.Names() {
		if f.X == "" && !(s.takesEach(m) && len(s.names(m)) > 0) {
			continue // a single number
		}
		one := f
		one.Y = plan.Names{m}
		all = append(all, plan.Item[plan.Figure]{Name: m, Value: one})
	}
	return all
}

func allNumbers(values []judge.Param) bool {
	return !slices.ContainsFunc(values, func(v judge.Param) bool { return math.IsNaN(v.Number) })
}
