package show

import (
	"image/color"

	"airtide/internal/view/paper"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// inks are those of series.
var inks = []paper.Ink{paper.Blue, paper.Vermillion, paper.Green, paper.Purple, paper.Orange, paper.Sky, paper.Black}

var (
	black = paper.Black.Colour
	white = paper.RGB(0xFF, 0xFF, 0xFF)
	pale  = paper.Pale.Colour
)

// look is how a series is drawn. No two of the first 280 share ink, dashes and marker, so that they differ in grey and in
// print too.
type look struct {
	ink    color.RGBA
	dashes []vg.Length
	marker draw.GlyphDrawer
	hatch  hatch
}

var dashes = [][]vg.Length{nil, {5, 2.5}, {1.2, 1.8}, {6, 2, 1.2, 2}, {12, 2.5}}

var markers = []draw.GlyphDrawer{
	draw.CircleGlyph{}, draw.SquareGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{},
}

// looks is how series i is drawn.
func looks(i int, grey bool) look {
	l := look{inks[i%len(inks)].Colour, dashes[i%len(dashes)], markers[i%len(markers)], hatch(i % int(hatches))}
	if grey {
		l.ink = inks[i%len(inks)].Grey
	}
	return l
}

func (l look) line(width float64) draw.LineStyle {
	return draw.LineStyle{Color: l.ink, Width: vg.Points(width), Dashes: l.dashes}
}

func (l look) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.ink, Shape: l.marker, Radius: vg.Points(2.8)}
}

// tint is the colour of an area.
func tint(c color.RGBA) color.RGBA { return paper.Tint(c, 50) }

// hatch is the pattern of a bar.
type hatch int

const (
	plain hatch = iota
	rising
	falling
	crossed
	level
	upright
	hatches
)

// fill draws an area in the look of a series.
func (l look) fill(c draw.Canvas, area vg.Rectangle) {
	c.FillPolygon(tint(l.ink), corners(area))
	inside := draw.Canvas{Canvas: c.Canvas, Rectangle: area}
	style := draw.LineStyle{Color: l.ink, Width: vg.Points(0.6)}
	const gap = vg.Length(4)
	w, h := area.Max.X-area.Min.X, area.Max.Y-area.Min.Y
	slanted := func(up vg.Length) {
		for x := -h; x < w; x += gap * 1.4 {
			foot := area.Min.Y
			if up < 0 {
				foot = area.Max.Y
			}
			inside.StrokeLines(style, inside.ClipLinesXY([]vg.Point{{X: area.Min.X + x, Y: foot}, {X: area.Min.X + x + h, Y: foot + up*h}})...)
		}
	}
	switch l.hatch {
	case rising:
		slanted(1)
	case falling:
		slanted(-1)
	case crossed:
		slanted(1)
		slanted(-1)
	case level:
		for y := area.Min.Y + gap; y < area.Max.Y; y += gap {
			c.StrokeLine2(style, area.Min.X, y, area.Max.X, y)
		}
	case upright:
		for x := area.Min.X + gap; x < area.Max.X; x += gap {
			c.StrokeLine2(style, x, area.Min.Y, x, area.Max.Y)
		}
	}
	outline := append(corners(area), area.Min)
	c.StrokeLines(draw.LineStyle{Color: l.ink, Width: vg.Points(0.9)}, outline)
}

func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}
