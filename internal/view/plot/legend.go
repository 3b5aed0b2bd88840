package report

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// entry is an entry of a legend: a line or a glyph, and what it is.
type entry struct {
	label  string
	stroke *stroke
	glyph  *glyph
	shade  bool
}

// legend lists what a panel shows between two times. With counts, marks say how many events they stand for, since
// events closer than a dot share a mark.
func (p *panel) legend(from, to int64, counts bool) []entry {
	var entries []entry
	for _, l := range p.lines {
		_, hi, ok := l.curve.extremes(from, to)
		if !ok {
			continue
		}
		label := l.label
		if float64(hi) > l.axis.hi {
			if label += " (off scale)"; counts {
				label = fmt.Sprintf("%s (up to %s)", l.label, l.axis.quantity.format(float64(hi)))
			}
		}
		entries = append(entries, entry{label: label, stroke: &l.stroke, shade: l.shade})
	}
	for _, m := range p.marks {
		n := m.marks.count(from, to)
		if n == 0 {
			continue
		}
		e := entry{label: m.label, glyph: &m.glyph}
		if counts {
			e.label = fmt.Sprintf("%s (%d)", m.label, n)
		}
		if m.spans && m.glyph.shape == nil {
			e.glyph, e.stroke = nil, &stroke{ink: m.glyph.ink, width: m.width}
		}
		entries = append(entries, e)
	}
	return entries
}

// Widths in a legend, as parts of the font size.
const (
	sampleWidth = 2.6
	glyphWidth  = 0.9
	sampleGap   = 0.4
	entryGap    = 1.3
)

func (c *canvas) entryWidth(e entry) vg.Length {
	sample := c.textSize * sampleWidth
	if e.glyph != nil {
		sample = c.textSize * glyphWidth
	}
	return sample + c.textSize*sampleGap + widthOf(c.textSize, e.label)
}

// rowsOf breaks the entries of a legend into rows of a width.
func (c *canvas) rowsOf(entries []entry, width vg.Length) [][]entry {
	var rows [][]entry
	var used vg.Length
	for _, e := range entries {
		w := c.entryWidth(e)
		if len(rows) == 0 || used+c.textSize*entryGap+w > width {
			rows = append(rows, nil)
			used = -c.textSize * entryGap
		}
		used += c.textSize*entryGap + w
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
	}
	return rows
}

// legendHeight is the room that rows of a legend take.
func (c *canvas) legendHeight(rows int) vg.Length {
	if rows == 0 {
		return 0
	}
	return c.textSize * (vg.Length(rows)*lineHeight + 0.3)
}

// drawLegend writes the rows downward from the upper left corner.
func (c *canvas) drawLegend(rows [][]entry, corner vg.Point) {
	d := draw.Canvas{Canvas: c.vg}
	y := corner.Y - c.textSize
	for _, row := range rows {
		x := corner.X
		for _, e := range row {
			middle := y + c.textSize*midline
			sample := c.textSize * sampleWidth
			if e.shade {
				d.FillPolygon(pale.in(c.style), []vg.Point{{X: x, Y: y}, {X: x + sample, Y: y}, {X: x + sample, Y: middle}, {X: x, Y: middle}})
			}
			if e.stroke != nil {
				d.StrokeLine2(e.stroke.in(c.style), x, middle, x+sample, middle)
			}
			if e.glyph != nil {
				sample = c.textSize * glyphWidth
				c.glyph(*e.glyph, vg.Point{X: x + sample/2, Y: middle})
			}
			c.write(c.textSize, vg.Point{X: x + sample + c.textSize*sampleGap, Y: y}, alignLeft, e.label)
			x += c.entryWidth(e) + c.textSize*entryGap
		}
		y -= c.textSize * lineHeight
	}
}
