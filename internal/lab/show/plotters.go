package show

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// lineOf is a line, with markers and error bars or without.
type lineOf struct {
	points []point
	look   look
	marked bool
	font   font.Length
}

// Plot implements plot.Plotter. A point without a value interrupts the line.
func (l lineOf) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var stretches [][]vg.Point
	broken := true
	for _, pt := range l.points {
		if math.IsNaN(pt.y) || math.IsNaN(pt.x) {
			broken = true
			continue
		}
		if broken {
			stretches, broken = append(stretches, nil), false
		}
		last := &stretches[len(stretches)-1]
		*last = append(*last, vg.Point{X: x(pt.x), Y: y(pt.y)})
	}
	width := 1.3
	if !l.marked {
		width = 1
	}
	c.StrokeLines(l.look.line(width), c.ClipLinesXY(stretches...)...)
	if !l.marked {
		return
	}
	for _, pt := range l.points {
		whisker(c, p, x(pt.x), pt, l.look, 3)
		if !math.IsNaN(pt.y) && !math.IsNaN(pt.x) {
			c.DrawGlyph(l.look.glyph(), vg.Point{X: x(pt.x), Y: y(pt.y)})
		}
	}
}

// whisker draws an interval with caps of a half width.
func whisker(c draw.Canvas, p *plot.Plot, at vg.Length, pt point, l look, half vg.Length) {
	if math.IsNaN(pt.low) || math.IsNaN(pt.high) || math.IsNaN(float64(at)) {
		return
	}
	_, y := p.Transforms(&c)
	style := draw.LineStyle{Color: l.ink, Width: vg.Points(0.9)}
	low, high := y(max(pt.low, p.Y.Min)), y(min(pt.high, p.Y.Max))
	c.StrokeLine2(style, at, low, at, high)
	if pt.low >= p.Y.Min {
		c.StrokeLine2(style, at-half, low, at+half, low)
	}
	if pt.high <= p.Y.Max {
		c.StrokeLine2(style, at-half, high, at+half, high)
	}
}

// barsOf are the bars of one series, in its place among those of each group.
type barsOf struct {
	points    []point
	look      look
	place, of int
	font      font.Length
	values    bool // written above
}

// groupWidth is the share of the axis that a group of bars takes.
const groupWidth = 0.8

// Plot implements plot.Plotter.
func (b barsOf) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	width := min(groupWidth/float64(b.of), groupWidth/2)
	written := b.values && !slices.ContainsFunc(b.points, func(pt point) bool { return widthOf(b.font, number(pt.y)) > x(width)-x(0) })
	for _, pt := range b.points {
		if math.IsNaN(pt.y) || math.IsNaN(pt.x) {
			continue
		}
		left := pt.x + width*(float64(b.place)-float64(b.of)/2)
		inset := 0.04 * width
		area := vg.Rectangle{Min: vg.Point{X: x(left + inset), Y: y(min(0, pt.y))}, Max: vg.Point{X: x(left + width - inset), Y: y(max(0, pt.y))}}
		b.look.fill(c, area)
		middle := (area.Min.X + area.Max.X) / 2
		dark := look{ink: black}
		whisker(c, p, middle, pt, dark, min(4, (area.Max.X-area.Min.X)/4))
		if written {
			top := pt.y
			if !math.IsNaN(pt.high) {
				top = max(top, min(pt.high, p.Y.Max))
			}
			style := writing(b.font)
			style.XAlign = draw.XCenter
			c.FillText(style, vg.Point{X: middle, Y: y(top) + 2}, number(pt.y))
		}
	}
}

// moment is a thin upright line.
type moment float64

// Plot implements plot.Plotter.
func (m moment) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: black, Width: vg.Points(0.6), Dashes: []vg.Length{2, 2}}, x(float64(m)), c.Min.Y, x(float64(m)), c.Max.Y)
}
