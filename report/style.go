package report

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ink is a colour of the palette with the grey that stands for it in the grey style.
type ink struct{ colour, grey color.RGBA }

// The palette of Okabe and Ito (Color Universal Design, 2008). Its yellow is left out: it vanishes on white paper.
var (
	black      = ink{rgb(0x00, 0x00, 0x00), rgb(0x00, 0x00, 0x00)}
	blue       = ink{rgb(0x00, 0x72, 0xB2), rgb(0x28, 0x28, 0x28)}
	vermillion = ink{rgb(0xD5, 0x5E, 0x00), rgb(0x50, 0x50, 0x50)}
	green      = ink{rgb(0x00, 0x9E, 0x73), rgb(0x70, 0x70, 0x70)}
	purple     = ink{rgb(0xCC, 0x79, 0xA7), rgb(0x90, 0x90, 0x90)}
	orange     = ink{rgb(0xE6, 0x9F, 0x00), rgb(0xA0, 0xA0, 0xA0)}
	sky        = ink{rgb(0x56, 0xB4, 0xE9), rgb(0xB4, 0xB4, 0xB4)}
	dim        = ink{rgb(0x80, 0x80, 0x80), rgb(0x80, 0x80, 0x80)}
	pale       = ink{rgb(0xE4, 0xE4, 0xE4), rgb(0xE4, 0xE4, 0xE4)}
)

func rgb(r, g, b uint8) color.RGBA { return color.RGBA{r, g, b, 0xFF} }

func (i ink) in(s Style) color.Color {
	if s == Grey {
		return i.grey
	}
	return i.colour
}

// tint is the colour of an area behind lines. It is opaque, since not every PDF reader blends alike.
func tint(c color.Color) color.Color {
	r, g, b, _ := c.RGBA()
	mix := func(x uint32) uint8 { return uint8((x>>8)*4/10 + 0xFF*6/10) }
	return rgb(mix(r), mix(g), mix(b))
}

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
