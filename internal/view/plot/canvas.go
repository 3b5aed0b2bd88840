package report

import (
	"strings"
	"unicode"

	"airtide/internal/view/paper"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Distances that look the same at every size of font.
const (
	tickLength = 3 * vg.Length(1)
	tickGap    = 2 * vg.Length(1)
	midline    = 0.35 // of the font size: from the baseline to the middle of a digit
	lineHeight = 1.3  // of the font size
)

// canvas is where a figure is drawn: primitives in the style and the fonts of the figure.
type canvas struct {
	vg                            vg.Canvas
	style                         Style
	titleSize, textSize, tickSize font.Length
}

type alignment float64

const (
	alignLeft   alignment = 0
	alignCentre alignment = 0.5
	alignRight  alignment = 1
)

func faceOf(size font.Length) font.Face {
	return paper.Letters().Lookup(paper.Sans, size)
}

func widthOf(size font.Length, s string) vg.Length {
	face := faceOf(size)
	return face.Width(s)
}

// write writes a line of text; at is on its baseline.
func (c *canvas) write(size font.Length, at vg.Point, align alignment, s string) {
	at.X -= vg.Length(align) * widthOf(size, s)
	c.vg.SetColor(black.in(c.style))
	c.vg.FillString(faceOf(size), at, s)
}

// writeUp writes text upward, centred and shortened to a room; at is in the middle of its baseline.
func (c *canvas) writeUp(size font.Length, at vg.Point, room vg.Length, s string) {
	size, s = fitted(size, s, room)
	c.vg.Push()
	c.vg.Translate(at)
	c.vg.Rotate(1.5707963267948966)
	c.write(size, vg.Point{}, alignCentre, s)
	c.vg.Pop()
}

// writeIn writes an explanation in the middle of an area, in as many lines as it needs.
func (c *canvas) writeIn(area vg.Rectangle, s string) {
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

// rule draws a straight line.
func (c *canvas) rule(i ink, width float64, from, to vg.Point) {
	d := draw.Canvas{Canvas: c.vg}
	d.StrokeLine2(stroke{ink: i, width: width}.in(c.style), from.X, from.Y, to.X, to.Y)
}

func (c *canvas) frame(r vg.Rectangle) {
	d := draw.Canvas{Canvas: c.vg}
	d.StrokeLines(stroke{ink: black, width: 0.7}.in(c.style), []vg.Point{
		r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}, r.Min,
	})
}

func (c *canvas) glyph(g glyph, at vg.Point) {
	d := draw.Canvas{Canvas: c.vg}
	d.DrawGlyphNoClip(g.in(c.style), at)
}

// fitted shortens a text until it fits: first its letters, down to seven tenths, then its middle.
func fitted(size font.Length, s string, width vg.Length) (font.Length, string) {
	s = printable(s)
	if w := widthOf(size, s); w > width {
		size *= max(0.7, width/w)
	}
	for r := []rune(s); widthOf(size, s) > width && len(r) > 3; {
		r = append(r[:len(r)/2], r[len(r)/2+1:]...)
		s = string(r[:len(r)/2]) + "…" + string(r[len(r)/2:])
	}
	return size, s
}

// printable replaces what cannot stand in an SVG or would not be seen; a process may have any name.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
