package report

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"airtide/internal/view/paper"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Draw writes a figure of one flow, or with Options.Grid of several, in a format of Formats.
func Draw(w io.Writer, format string, kind Kind, flows []*FlowSeries, o Options) error {
	if _, err := ParseKind(string(kind)); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if err := checkFlows(flows, o.Grid); err != nil {
		return err
	}
	time, err := timeAxisOf(flows, &o)
	if err != nil {
		return err
	}
	rows, columns := 0, 1
	if o.Grid {
		rows, columns = gridShape(len(flows))
	}
	width, height, dpi, err := o.size(kind, rows, columns)
	if err != nil {
		return err
	}
	pic := &picture{
		area: vg.Rectangle{Max: vg.Point{X: width, Y: height}}, cells: cellsOf(kind, flows, o),
		rows: max(rows, 1), columns: columns, time: time, o: o,
	}
	switch format {
	case "png":
		c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
		if err := pic.draw(c); err != nil {
			return err
		}
		return paper.WritePNG(w, c, dpi)
	case "svg":
		c := vgsvg.New(width, height)
		if err := pic.draw(c); err != nil {
			return err
		}
		return paper.WriteSVG(w, c)
	case "pdf":
		c := vgpdf.New(width, height)
		if err := pic.draw(c); err != nil {
			return err
		}
		if _, err := c.WriteTo(w); err != nil {
			return fmt.Errorf("writing PDF: %w", err)
		}
		return nil
	}
	return fmt.Errorf("figure: unknown format %q: want one of %s", format, strings.Join(Formats, ", "))
}

func checkFlows(flows []*FlowSeries, grid bool) error {
	switch {
	case len(flows) == 0:
		return errors.New("figure: nothing to draw: no flow was chosen, or the recording has none")
	case len(flows) > 1 && !grid:
		return fmt.Errorf("figure: %d flows were chosen: choose one, or draw them side by side as a grid", len(flows))
	case len(flows) > MaxGrid:
		return fmt.Errorf("figure: %d flows do not fit one grid: choose at most %d", len(flows), MaxGrid)
	}
	return nil
}

// originShare is the part of the axis that may be empty before the first flow so that the axis still starts at 0.
const originShare = 0.1

// timeAxisOf makes the time axis from the bounds that were asked for, else from what there is.
func timeAxisOf(flows []*FlowSeries, o *Options) (*timeAxis, error) {
	if o.OriginNs == 0 {
		o.OriginNs = flows[0].series.o.OriginNs
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for _, f := range flows {
		first, last = min(first, f.FirstNs), max(last, f.LastNs)
	}
	a := &timeAxis{origin: o.OriginNs, from: o.OriginNs + int64(o.From), to: o.OriginNs + int64(o.To), wall: o.Wall}
	if last < first || (o.To != 0 && first > a.to) || last < a.from {
		return nil, nothingThere(flows, o)
	}
	if o.To == 0 {
		a.to = max(last, a.from)
	}
	if o.From == 0 && float64(first-o.OriginNs) > originShare*float64(a.to-o.OriginNs) {
		a.from = first
	}
	if o.From == 0 && first < a.from {
		a.from = first
	}
	if a.to <= a.from { // a single moment
		a.from, a.to = a.from-500_000, a.from+500_000
	}
	o.fromNs, o.toNs = a.from, a.to
	return a, nil
}

func nothingThere(flows []*FlowSeries, o *Options) error {
	who := fmt.Sprintf("none of the %d flows", len(flows))
	if len(flows) == 1 {
		who = fmt.Sprintf("flow %d", flows[0].Flow.ID)
	}
	verb := map[bool]string{true: "has no sample and no event", false: "has a sample or an event"}[len(flows) == 1]
	if o.From == 0 && o.To == 0 {
		return fmt.Errorf("figure: nothing to draw: %s %s", who, verb)
	}
	end := "the end"
	if o.To != 0 {
		end = o.To.String()
	}
	return fmt.Errorf("figure: nothing to draw: %s %s between %v and %s; choose other bounds", who, verb, o.From, end)
}

// gridShape is the number of rows and columns of a grid: two columns keep the cells wide enough for print.
func gridShape(n int) (rows, columns int) {
	switch {
	case n == 1:
		columns = 1
	case n <= 12:
		columns = 2
	default:
		columns = 3
	}
	return (n + columns - 1) / columns, columns
}

// cellsOf makes the panels of each flow and gives panels of the same place in all cells the same bounds, so that flows
// side by side can be compared.
func cellsOf(kind Kind, flows []*FlowSeries, o Options) []*cell {
	cells := make([]*cell, len(flows))
	for i, f := range flows {
		cells[i] = &cell{flow: f, panels: figures[kind].panels(f, o)}
	}
	alike := func(visit func(p *panel)) {
		for _, c := range cells {
			for _, p := range c.panels {
				visit(p)
			}
		}
		for i := range cells[0].panels {
			shareAxes(cells, i)
		}
	}
	alike(func(p *panel) { p.measure(o.fromNs, o.toNs) })
	alike(func(p *panel) { p.measureLimits(o.fromNs, o.toNs) })
	for _, c := range cells {
		for _, p := range c.panels {
			p.left.settle()
			if p.right != nil {
				p.right.settle()
			}
		}
	}
	return cells
}

// shareAxes widens the axes of panel i of every cell to the widest.
func shareAxes(cells []*cell, i int) {
	for _, side := range []func(*panel) *axis{
		func(p *panel) *axis { return p.left },
		func(p *panel) *axis { return p.right },
	} {
		var all axis
		for _, c := range cells {
			if a := side(c.panels[i]); a != nil && a.used {
				all.include(a.lo, a.hi)
			}
		}
		for _, c := range cells {
			if a := side(c.panels[i]); a != nil && all.used {
				a.include(all.lo, all.hi)
			}
		}
	}
}
