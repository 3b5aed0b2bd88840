package show

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// ink is a colour with the grey that stands for it.
type ink struct{ colour, grey color.RGBA }

// inks are the palette of Okabe and Ito (Color Universal Design, 2008) without its yellow, which vanishes on white paper;
// the same as package report's.
var inks = []ink{
	{rgb(0x00, 0x72, 0xB2), rgb(0x28, 0x28, 0x28)}, // blue
	{rgb(0xD5, 0x5E, 0x00), rgb(0x50, 0x50, 0x50)}, // vermillion
	{rgb(0x00, 0x9E, 0x73), rgb(0x70, 0x70, 0x70)}, // green
	{rgb(0xCC, 0x79, 0xA7), rgb(0x90, 0x90, 0x90)}, // purple
	{rgb(0xE6, 0x9F, 0x00), rgb(0xA0, 0xA0, 0xA0)}, // orange
	{rgb(0x56, 0xB4, 0xE9), rgb(0xB4, 0xB4, 0xB4)}, // sky
	{rgb(0x00, 0x00, 0x00), rgb(0x00, 0x00, 0x00)}, // black
}

var (
	black = rgb(0x00, 0x00, 0x00)
	white = rgb(0xFF, 0xFF, 0xFF)
	pale  = rgb(0xE4, 0xE4, 0xE4)
)

func rgb(r, g, b uint8) color.RGBA { return color.RGBA{r, g, b, 0xFF} }

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
	l := look{inks[i%len(inks)].colour, dashes[i%len(dashes)], markers[i%len(markers)], hatch(i % int(hatches))}
	if grey {
		l.ink = inks[i%len(inks)].grey
	}
	return l
}

func (l look) line(width float64) draw.LineStyle {
	return draw.LineStyle{Color: l.ink, Width: vg.Points(width), Dashes: l.dashes}
}

func (l look) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: l.ink, Shape: l.marker, Radius: vg.Points(2.8)}
}

// tint is the colour of an area. It is opaque, since not every reader of SVG blends alike.
func tint(c color.RGBA) color.RGBA {
	mix := func(x uint8) uint8 { return uint8((uint32(x)*5 + 0xFF*5) / 10) }
	return rgb(mix(c.R), mix(c.G), mix(c.B))
}

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
