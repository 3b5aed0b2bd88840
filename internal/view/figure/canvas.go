package figure

import (
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"airtide/internal/units"
)

// Distances that look the same at every size of font.
const (
	tickLength = vg.Length(3)
	tickGap    = vg.Length(2)
	midline    = 0.35 // height of a digit's middle above the baseline, as a part of the font size
	lineHeight = 1.3  // multiple of the font size
)

// canvas draws primitives in the theme and the fonts of a figure.
type canvas struct {
	vg                            vg.Canvas
	theme                         *Theme
	titleSize, textSize, tickSize font.Length
}

type alignment float64

const (
	alignLeft   alignment = 0
	alignCentre alignment = 0.5
	alignRight  alignment = 1
)

func (c *canvas) colour(i Ink) color.Color { return c.theme.Inks[i] }

func (c *canvas) stroke(s Style) draw.LineStyle {
	l := draw.LineStyle{Color: c.colour(s.Ink), Width: vg.Points(s.Width)}
	for _, d := range dashes[s.Dash] {
		l.Dashes = append(l.Dashes, vg.Points(d))
	}
	return l
}

// clipped is the library's canvas bounded by an area.
func (c *canvas) clipped(area vg.Rectangle) draw.Canvas {
	return draw.Canvas{Canvas: c.vg, Rectangle: area}
}

// write writes a line of text; at is on its baseline. Names in it can have any characters, and an
// SVG file is often printed to a terminal.
func (c *canvas) write(size font.Length, at vg.Point, align alignment, s string) {
	s = units.Printable(s)
	at.X -= vg.Length(align) * widthOf(size, s)
	c.vg.SetColor(c.colour(Text))
	c.vg.FillString(faceOf(size), at, s)
}

// writeLine writes a line of text, shortened to a width; at is the left end of its baseline.
func (c *canvas) writeLine(size font.Length, at vg.Point, width vg.Length, s string) {
	size, s = fitted(size, s, width)
	c.write(size, at, alignLeft, s)
}

// writeUp writes text upward, centred and shortened to a length; at is in the middle of its
// baseline.
func (c *canvas) writeUp(size font.Length, at vg.Point, length vg.Length, s string) {
	size, s = fitted(size, s, length)
	c.writeTurned(size, at, alignCentre, math.Pi/2, s)
}

// writeTurned writes text at an angle in radians.
func (c *canvas) writeTurned(size font.Length, at vg.Point, align alignment, angle float64, s string) {
	c.vg.Push()
	c.vg.Translate(at)
	c.vg.Rotate(angle)
	c.write(size, vg.Point{}, align, s)
	c.vg.Pop()
}

// writeParagraph writes an explanation in the middle of an area, in as many lines as it needs.
func (c *canvas) writeParagraph(area vg.Rectangle, s string) {
	var lines []string
	for _, word := range strings.Fields(s) {
		if n := len(lines); n > 0 && widthOf(c.textSize, lines[n-1]+" "+word) < (area.Max.X-area.Min.X)*0.9 {
			lines[n-1] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	y := (area.Min.Y+area.Max.Y)/2 + c.textSize*lineHeight*vg.Length(len(lines)-1)/2
	for _, l := range lines {
		c.write(c.textSize, vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: y}, alignCentre, l)
		y -= c.textSize * lineHeight
	}
}

// line draws a straight line.
func (c *canvas) line(i Ink, width float64, from, to vg.Point) {
	d := draw.Canvas{Canvas: c.vg}
	d.StrokeLine2(c.stroke(Style{Ink: i, Width: width}), from.X, from.Y, to.X, to.Y)
}

func (c *canvas) frame(r vg.Rectangle) {
	d := draw.Canvas{Canvas: c.vg}
	d.StrokeLines(c.stroke(Style{Ink: Text, Width: 0.7}), outline(r))
}

func (c *canvas) fill(colour color.Color, r vg.Rectangle) {
	d := draw.Canvas{Canvas: c.vg}
	d.FillPolygon(colour, corners(r))
}

func (c *canvas) marker(s Style, at vg.Point) {
	colour := c.colour(s.Ink)
	if s.Tinted {
		colour = c.theme.tint(s.Ink, barTint)
	}
	d := draw.Canvas{Canvas: c.vg}
	d.DrawGlyphNoClip(draw.GlyphStyle{Color: colour, Shape: shapes[s.Marker], Radius: vg.Points(s.Radius)}, at)
}

func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}

func outline(r vg.Rectangle) []vg.Point { return append(corners(r), r.Min) }
