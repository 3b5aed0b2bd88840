package figure

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// entry is an entry of a legend: a sample of a style, and its label.
type entry struct {
	name  string // name of the series or mark, the same in all cells
	label string // the name and a word about the panel
	style Style
	kind  sampleKind
}

// sampleKind is the sample of a style in a legend.
type sampleKind int

const (
	lineSample sampleKind = iota
	shadedSample
	markedLineSample
	markerSample
	barSample
)

// legend lists the series and marks of a panel that have data at or above an x. With counts, marks
// have their number of events, since events closer than a dot share a marker.
func (p *Panel) legend(y panelScales, from float64, counts bool) []entry {
	var entries []entry
	for i := range p.Series {
		s := &p.Series[i]
		_, most, ok := s.extremesFrom(from)
		if !ok || s.Name == "" {
			continue
		}
		label := s.Name
		if a := y.of(s.Side); most > a.hi {
			label += " (off scale)"
			if counts {
				label = fmt.Sprintf("%s (up to %s)", s.Name, a.Unit.Format(most))
			}
		}
		entries = append(entries, entry{s.Name, label, s.Style, s.sampleKind()})
	}
	for i := range p.Marks {
		m := &p.Marks[i]
		n := m.count()
		if n == 0 {
			continue
		}
		e := entry{m.Name, m.Name, m.Style, markerSample}
		if counts {
			e.label = fmt.Sprintf("%s (%d)", m.Name, n)
		}
		if m.Spans && m.Style.Marker == NoMarker {
			e.kind = lineSample
		}
		entries = append(entries, e)
	}
	return entries
}

func (s *Series) sampleKind() sampleKind {
	switch {
	case s.Kind == Bars:
		return barSample
	case s.Kind == Points:
		return markerSample
	case s.Shade:
		return shadedSample
	case s.Kind == Line && s.Style.Marker != NoMarker:
		return markedLineSample
	}
	return lineSample
}

// Widths in a legend, as parts of the font size.
const (
	sampleWidth = 2.6
	markerWidth = 0.9
	sampleGap   = 0.4
	entryGap    = 1.3
)

func (c *canvas) sampleWidth(e entry) vg.Length {
	if e.kind == markerSample {
		return c.textSize * markerWidth
	}
	return c.textSize * sampleWidth
}

func (c *canvas) entryWidth(e entry) vg.Length {
	return c.sampleWidth(e) + c.textSize*sampleGap + widthOf(c.textSize, e.label)
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

// legendHeight is the height of so many rows of a legend.
func (c *canvas) legendHeight(rows int) vg.Length {
	if rows == 0 {
		return 0
	}
	return c.textSize * (vg.Length(rows)*lineHeight + 0.3)
}

// drawLegend writes the rows downward from the upper left corner.
func (c *canvas) drawLegend(rows [][]entry, corner vg.Point) {
	y := corner.Y - c.textSize
	for _, row := range rows {
		x := corner.X
		for _, e := range row {
			c.drawSample(e, vg.Point{X: x, Y: y})
			end := x + c.sampleWidth(e)
			c.write(c.textSize, vg.Point{X: end + c.textSize*sampleGap, Y: y}, alignLeft, e.label)
			x += c.entryWidth(e) + c.textSize*entryGap
		}
		y -= c.textSize * lineHeight
	}
}

// drawSample draws the sample of an entry; at is the left end of the baseline.
func (c *canvas) drawSample(e entry, at vg.Point) {
	d := draw.Canvas{Canvas: c.vg}
	right := at.X + c.sampleWidth(e)
	middle := at.Y + c.textSize*midline
	centre := vg.Point{X: (at.X + right) / 2, Y: middle}
	switch e.kind {
	case barSample:
		c.drawBar(e.style, vg.Rectangle{
			Min: vg.Point{X: at.X, Y: at.Y - c.textSize*0.1},
			Max: vg.Point{X: right, Y: at.Y + c.textSize*0.8},
		})
		return
	case markerSample:
		c.marker(e.style, vg.Point{X: at.X + c.sampleWidth(e)/2, Y: middle})
		return
	case shadedSample:
		c.fill(c.colour(Grid), vg.Rectangle{Min: at, Max: vg.Point{X: right, Y: middle}})
	}
	d.StrokeLine2(c.stroke(e.style), at.X, middle, right, middle)
	if e.kind == markedLineSample {
		c.marker(e.style, centre)
	}
}
