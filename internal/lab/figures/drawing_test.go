package figures

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/internal/view/figure"
	"airtide/test/svg"
)

func reportOf(t *testing.T, dir string) *report.Report {
	t.Helper()
	r, err := report.Read(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// keep copies a drawing into the folder AIRTIDE_FIGURES, to be looked at.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	dir := os.Getenv("AIRTIDE_FIGURES")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// drawn draws a figure in all formats and reads its SVG. Texts of the x axis may overlap if names
// are turned.
func drawn(t *testing.T, r *report.Report, name string, o figure.Options) *svg.Picture {
	t.Helper()
	var picture *svg.Picture
	for _, format := range figure.Formats {
		var b bytes.Buffer
		if err := Draw(t.Context(), &b, format, r, name, o); err != nil {
			t.Fatal(err)
		}
		keep(t, fmt.Sprintf("%s-%s-%v.%s", r.Experiment, name, o.Theme == figure.Print, format), b.Bytes())
		if format == "svg" {
			picture = svg.Read(t, b.Bytes())
		}
	}
	return picture
}

func has(t *testing.T, p *svg.Picture, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !p.Has(text) {
			t.Errorf("%q is not in the figure: %s", text, p.All())
		}
	}
}

func chartOf(t *testing.T, r *report.Report, f plan.Figure) *chart {
	t.Helper()
	c, err := build(t.Context(), r, f)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// panelsOf are the panels of a chart.
func (c *chart) panelsOf() []figure.Panel { return c.Cells[0].Panels }

// named are the series of a panel with a name.
func named(p figure.Panel) []figure.Series {
	return slices.DeleteFunc(slices.Clone(p.Series), func(s figure.Series) bool { return s.Name == "" })
}

func figureNamed(t *testing.T, r *report.Report, name string) plan.Figure {
	t.Helper()
	f, ok := figuresOf(r).Get(name)
	if !ok {
		t.Fatalf("no figure %s", name)
	}
	return f
}
