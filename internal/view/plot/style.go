package report

import (
	"image/color"

	"airtide/internal/view/paper"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ink is a colour of the palette.
type ink paper.Ink

var (
	black      = ink(paper.Black)
	blue       = ink(paper.Blue)
	vermillion = ink(paper.Vermillion)
	green      = ink(paper.Green)
	purple     = ink(paper.Purple)
	orange     = ink(paper.Orange)
	sky        = ink(paper.Sky)
	dim        = ink(paper.Dim)
	pale       = ink(paper.Pale)
)

func (i ink) in(s Style) color.Color {
	if s == Grey {
		return i.Grey
	}
	return i.Colour
}

// tint is the colour of an area behind lines.
func tint(c color.Color) color.Color { return paper.Tint(c, 40) }

// stroke is how a line looks: no two lines of one panel share the dashes and the width, so that they differ without
// their colours too.
type stroke struct {
	ink    ink
	width  float64 // points
	dashes []float64
}

var (
	solid   []float64
	dashed  = []float64{5, 2.5}
	dotted  = []float64{1.2, 1.8}
	dashDot = []float64{6, 2, 1.2, 2}
	longer  = []float64{14, 2.5}
)

func (s stroke) in(style Style) draw.LineStyle {
	l := draw.LineStyle{Color: s.ink.in(style), Width: vg.Points(s.width)}
	for _, d := range s.dashes {
		l.Dashes = append(l.Dashes, vg.Points(d))
	}
	return l
}

// glyph is how an event is marked.
type glyph struct {
	ink    ink
	shape  draw.GlyphDrawer
	radius float64 // points
}

func (g glyph) in(style Style) draw.GlyphStyle {
	return draw.GlyphStyle{Color: g.ink.in(style), Shape: g.shape, Radius: vg.Points(g.radius)}
}

// diamond is a filled square on its corner.
type diamond struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (diamond) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, pt vg.Point) {
	r := sty.Radius * 1.2
	c.FillPolygon(sty.Color, []vg.Point{{X: pt.X - r, Y: pt.Y}, {X: pt.X, Y: pt.Y + r}, {X: pt.X + r, Y: pt.Y}, {X: pt.X, Y: pt.Y - r}})
}

// cross is an X with a line as thick as print needs; the library's is a hairline.
type cross struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (cross) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, pt vg.Point) {
	r := sty.Radius * 0.8
	var p vg.Path
	p.Move(vg.Point{X: pt.X - r, Y: pt.Y - r})
	p.Line(vg.Point{X: pt.X + r, Y: pt.Y + r})
	p.Move(vg.Point{X: pt.X - r, Y: pt.Y + r})
	p.Line(vg.Point{X: pt.X + r, Y: pt.Y - r})
	c.SetLineStyle(draw.LineStyle{Color: sty.Color, Width: vg.Points(0.9)})
	c.Stroke(p)
}
