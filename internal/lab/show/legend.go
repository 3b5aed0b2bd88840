package show

import (
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// entry is an entry of a legend.
type entry struct {
	label string
	look  look
}

// How a series is shown in a legend.
type sampleKind int

const (
	sampleLine sampleKind = iota
	sampleMarkedLine
	sampleMarker
	sampleBar
)

// Widths in a legend, as parts of the font size.
const (
	sampleWidth = 2.6
	sampleGap   = 0.4
	entryGap    = 1.3
	lineHeight  = 1.35
)

// legendRows breaks entries into rows of a width.
func legendRows(entries []entry, size font.Length, width vg.Length) [][]entry {
	var rows [][]entry
	var used vg.Length
	for _, e := range entries {
		w := entryWidth(e, size)
		if len(rows) == 0 || used+size*entryGap+w > width {
			rows, used = append(rows, nil), -size*entryGap
		}
		used += size*entryGap + w
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
	}
	return rows
}

func entryWidth(e entry, size font.Length) vg.Length {
	return size*(sampleWidth+sampleGap) + widthOf(size, e.label)
}

// drawLegend writes the rows downward from the upper left corner, and returns how much height they take.
func drawLegend(c draw.Canvas, rows [][]entry, kind sampleKind, size font.Length, corner vg.Point) vg.Length {
	style := writing(size)
	y := corner.Y - size
	for _, row := range rows {
		x := corner.X
		for _, e := range row {
			right, middle := x+size*sampleWidth, y+size*0.35
			if kind == sampleLine || kind == sampleMarkedLine {
				c.StrokeLine2(e.look.line(1.3), x, middle, right, middle)
			}
			if kind == sampleMarkedLine || kind == sampleMarker {
				c.DrawGlyph(e.look.glyph(), vg.Point{X: (x + right) / 2, Y: middle})
			}
			if kind == sampleBar {
				e.look.fill(c, vg.Rectangle{Min: vg.Point{X: x, Y: y - size*0.1}, Max: vg.Point{X: right, Y: y + size*0.8}})
			}
			c.FillText(style, vg.Point{X: right + size*sampleGap, Y: y}, e.label)
			x += entryWidth(e, size) + size*entryGap
		}
		y -= size * lineHeight
	}
	return size * lineHeight * vg.Length(len(rows))
}
