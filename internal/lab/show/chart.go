package show

import (
	"fmt"
	"image/color"
	"math"

	"airtide/internal/view/paper"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// chart is a figure: panels above each other on one horizontal axis, with a legend above them.
type chart struct {
	title, note string
	kind        chartKind
	x           axis
	// mark is a moment on the horizontal axis that a thin line shows; NaN for none.
	mark   float64
	panels []panel
	// names of the series, which are the same in all panels.
	names []string
}

type chartKind int

const (
	lines chartKind = iota
	bars
	scatter
	steps // lines without markers
)

// panel is a data area with its vertical axis.
type panel struct {
	title  string
	series []series
}

// series is one line, colour of bars or kind of markers. Index is its place among the chart's names.
type series struct {
	index  int
	points []point
	// of names the point of the sweep that each is of, where runs are drawn by themselves.
	of []string
}

// point is a value with its interval, which is NaN where there is none.
type point struct{ x, y, low, high float64 }

// Font sizes in points for a figure as wide as a page; it may be printed at three fifths of its size and be read still.
const (
	pageFont = 10.5
	noteFont = 0.72 // of the figure's
	margin   = vg.Length(5)
	between  = vg.Length(7) // panels
)

// heightCm gives each panel the same height, whatever the legend needs.
func (c *chart) heightCm(wide float64) float64 {
	size := fontOf(vg.Length(wide) * vg.Centimeter)
	rows := legendRows(c.legend(FigureOptions{}), size-0.5, vg.Length(wide)*vg.Centimeter-2*margin)
	high := 8.0
	if n := len(c.panels); n > 1 {
		high = 1.5 + 5*float64(n)
	}
	return high*math.Sqrt(wide/defaultWide) + float64(size*lineHeight*vg.Length(len(rows))/vg.Centimeter)
}

// fontOf is the size of letters for a width: a smaller figure has smaller letters, though less so than its size.
func fontOf(width vg.Length) font.Length {
	return pageFont * font.Length(min(1.4, 0.45+0.55*width/(defaultWide*vg.Centimeter)))
}

func (c *chart) draw(to draw.Canvas, o FigureOptions) error {
	size := fontOf(to.Max.X - to.Min.X)
	to.FillPolygon(white, corners(to.Rectangle))
	area := draw.Crop(to, margin, -margin, margin, -margin)
	if c.title != "" && !o.NoTitle {
		area.FillText(writing(size), vg.Point{X: area.Min.X, Y: area.Max.Y - size*0.9}, fitted(size, c.title, area.Max.X-area.Min.X))
		area.Max.Y -= size*lineHeight + 2
	}
	if c.note != "" {
		small := size * noteFont
		area.FillText(writing(small), vg.Point{X: area.Min.X, Y: area.Min.Y + small*0.3}, fitted(small, c.note, area.Max.X-area.Min.X))
		area.Min.Y += small*lineHeight + 2
	}
	if entries := c.legend(o); len(entries) > 0 {
		rows := legendRows(entries, size-0.5, area.Max.X-area.Min.X)
		kind := [...]sampleKind{lines: sampleMarkedLine, bars: sampleBar, scatter: sampleMarker, steps: sampleLine}[c.kind]
		area.Max.Y -= drawLegend(area, rows, kind, size-0.5, vg.Point{X: area.Min.X, Y: area.Max.Y}) + 3
	}
	return c.drawPanels(area, size, o)
}

// maxEntries is up to how many series have a legend; more could not be told apart in it.
const maxEntries = 24

// labelled says that the series have their names beside their means, besides the legend.
func (c *chart) labelled() bool {
	if c.kind != scatter {
		return false
	}
	for i := range c.panels {
		n := 0
		for _, s := range c.panels[i].series {
			n += len(s.means())
		}
		if n > maxLabels {
			return false
		}
	}
	return true
}

// maxLabels is up to how many names have room beside marks.
const maxLabels = 12

// legend has an entry for each series; none for a single one without a name.
func (c *chart) legend(o FigureOptions) []entry {
	if len(c.names) > maxEntries || len(c.names) == 1 && c.names[0] == "" {
		return nil
	}
	var entries []entry
	for i, name := range c.names {
		entries = append(entries, entry{name, looks(i, o.Grey)})
	}
	return entries
}

func (c *chart) drawPanels(area draw.Canvas, size font.Length, o FigureOptions) error {
	plots := make([][]*plot.Plot, len(c.panels))
	room := (area.Max.Y-area.Min.Y)/vg.Length(len(c.panels)) - 3*size
	if room < 4*size {
		return fmt.Errorf("figure: too low for its %d panels and their legend: make it higher", len(c.panels))
	}
	for i := range c.panels {
		plots[i] = []*plot.Plot{c.plot(&c.panels[i], size, vg.Point{X: area.Max.X - area.Min.X - 4*size, Y: room}, i == len(c.panels)-1, o)}
	}
	tiles := draw.Tiles{Rows: len(plots), Cols: 1, PadY: between}
	for i, row := range plot.Align(plots, tiles, area) {
		p, at := plots[i][0], row[0]
		p.Draw(at)
		data := p.DataCanvas(at)
		frame := draw.LineStyle{Color: black, Width: vg.Points(0.7)}
		data.StrokeLines(frame, append(corners(data.Rectangle), data.Min))
		c.drawGap(p, data)
	}
	return nil
}

// drawGap breaks the horizontal axis where a logarithmic one has no place for zero.
func (c *chart) drawGap(p *plot.Plot, data draw.Canvas) {
	if math.IsNaN(c.x.gap) || c.x.categories {
		return
	}
	x, _ := p.Transforms(&data)
	at := x(c.x.gap)
	const half, slant = vg.Length(3.5), vg.Length(1.5)
	for _, y := range []vg.Length{data.Min.Y, data.Max.Y} {
		data.FillPolygon(white, []vg.Point{
			{X: at - 1.5 - slant, Y: y - half}, {X: at + 1.5 - slant, Y: y - half}, {X: at + 1.5 + slant, Y: y + half}, {X: at - 1.5 + slant, Y: y + half},
		})
		for _, side := range []vg.Length{-1.5, 1.5} {
			data.StrokeLine2(draw.LineStyle{Color: black, Width: vg.Points(0.7)}, at+side-slant, y-half, at+side+slant, y+half)
		}
	}
}

// plot makes the library's plot of a panel. The lowest has the labels of the horizontal axis.
func (c *chart) plot(p *panel, size font.Length, room vg.Point, lowest bool, o FigureOptions) *plot.Plot {
	pl := plot.New()
	pl.TextHandler = paper.Handler()
	pl.BackgroundColor = color.Transparent
	for _, a := range []*plot.Axis{&pl.X, &pl.Y} {
		a.Padding = 0
		a.LineStyle.Width = 0 // the frame has it
		a.Tick.LineStyle.Width, a.Tick.Length = vg.Points(0.6), 3
		for style, s := range map[*draw.TextStyle]font.Length{&a.Label.TextStyle: size - 0.5, &a.Tick.Label: size - 1} {
			next := writing(s)
			next.Rotation, next.XAlign, next.YAlign = style.Rotation, style.XAlign, style.YAlign
			*style = next
		}
	}
	low, high := p.bounds()
	if c.kind == bars && p.count() <= maxValues {
		high += 0.05 * (high - low) // for what is written above the bars
	}
	pl.Y.Min, pl.Y.Max = low, high
	pl.Y.Label.Text, pl.Y.Label.Padding = p.title, 2
	pl.Y.Tick.Marker = plot.ConstantTicks(evenTicks(low, high, max(2, min(8, int(room.Y/(size*2.2))))))
	pl.X.Min, pl.X.Max = c.x.low, c.x.high
	ticks := c.x.ticks
	if c.x.automatic {
		ticks = evenTicks(c.x.low, c.x.high, min(10, int(room.X/(size*4))))
	}
	if c.x.crowded(size-1, room.X) {
		pl.X.Tick.Label.Rotation, pl.X.Tick.Label.XAlign, pl.X.Tick.Label.YAlign = math.Pi/6, draw.XRight, draw.YTop
	}
	if lowest {
		pl.X.Label.Text, pl.X.Label.Padding = c.x.title, 2
	} else {
		ticks = unlabelled(ticks)
	}
	pl.X.Tick.Marker = plot.ConstantTicks(ticks)

	grid := plotter.NewGrid()
	grid.Vertical.Color = nil
	grid.Horizontal = draw.LineStyle{Color: pale, Width: vg.Points(0.5)}
	pl.Add(grid)
	if !math.IsNaN(c.mark) {
		pl.Add(moment(c.mark))
	}
	means := &labels{font: size - 1.5}
	for i, s := range p.series {
		l := looks(s.index, o.Grey)
		switch c.kind {
		case lines:
			pl.Add(lineOf{s.points, l, true, size})
		case steps:
			pl.Add(lineOf{s.points, l, false, size})
		case scatter:
			pl.Add(dots{s.points, s.means(), l})
			if c.labelled() {
				means.add(s, c.names[s.index])
			}
		case bars:
			pl.Add(barsOf{points: s.points, look: l, place: i, of: len(p.series), font: size - 2.5, values: p.count() <= maxValues})
		}
	}
	if c.kind == scatter {
		pl.Add(means)
	}
	return pl
}

// maxValues is up to how many bars have their values written above them.
const maxValues = 16

func (p *panel) count() int {
	n := 0
	for _, s := range p.series {
		n += len(s.points)
	}
	return n
}

func unlabelled(ticks []plot.Tick) []plot.Tick {
	out := make([]plot.Tick, len(ticks))
	for i, t := range ticks {
		out[i] = plot.Tick{Value: t.Value, Label: " "}
	}
	return out
}

// bounds of the vertical axis: from zero, with some headroom.
func (p *panel) bounds() (low, high float64) {
	for _, s := range p.series {
		for _, pt := range s.points {
			low, high = min(low, pt.y), max(high, pt.y)
			if !math.IsNaN(pt.high) {
				high = max(high, pt.high)
			}
		}
	}
	if high <= low {
		high = low + 1
	}
	return low, high + 0.07*(high-low)
}

// fitted shortens a line until it fits.
func fitted(size font.Length, s string, width vg.Length) string {
	r := []rune(s)
	for len(r) > 3 && widthOf(size, s) > width {
		r = r[:len(r)-1]
		s = string(r) + "…"
	}
	return s
}
