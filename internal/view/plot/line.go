package report

import (
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// dot is the width of a pixel column: a pixel at 300 dpi, also for formats without pixels.
const dot = vg.Inch / 300

// column is what is drawn of a curve in one pixel column: it is entered at first and left at last, and reaches from min
// to max. So a spike of one sample is as high as it was, however many samples share the column.
type column struct {
	x                     vg.Length
	first, min, max, last float64
}

// stretch is a part of a curve without a gap; the last value is held until end.
type stretch struct {
	columns []column
	end     vg.Length
}

// stretches gathers the visible buckets of a curve into pixel columns.
func (p *plotted) stretches(l line) []stretch {
	var all []stretch
	var now []column
	finish := func(t int64) {
		last := now[len(now)-1].x
		all = append(all, stretch{now, max(p.x(t), last+dot)}) // a value that was there for a moment shows as a dot
		now = nil
	}
	columnOf := func(x vg.Length) int { return int(math.Floor(float64((x - p.area.Min.X) / dot))) }
	buckets := l.curve.between(p.time.from, p.time.to)
	for i, b := range buckets {
		x := p.x(b.t0)
		c := column{x, float64(b.first), float64(b.min), float64(b.max), float64(b.last)}
		if n := len(now); n > 0 && columnOf(now[n-1].x) == columnOf(x) {
			now[n-1].min, now[n-1].max, now[n-1].last = min(now[n-1].min, c.min), max(now[n-1].max, c.max), c.last
		} else {
			now = append(now, c)
		}
		switch {
		case i == len(buckets)-1:
			finish(min(b.gap, max(p.end, b.t1), p.time.to))
		case b.gap != noGap && p.x(b.gap) < p.x(buckets[i+1].t0)-dot/2:
			finish(b.gap)
		}
	}
	return all
}

// piece is a part of a drawn line: the lines themselves, and the area that lies behind all lines.
type piece struct {
	lines [][]vg.Point
	area  []vg.Point
	band  bool
}

// pieces makes steps of a curve, since a value is held until the next one, with a gap where it is absent. Where it swings
// so fast that the steps would be a solid block, it becomes a band from the least to the greatest value.
func (p *plotted) pieces(l line) []piece {
	var all []piece
	for _, s := range p.stretches(l) {
		for start := 0; start < len(s.columns); {
			end, band := p.run(l, s.columns, start)
			if band {
				all = append(all, p.band(l, s.columns[start:end]))
				start = end - 1 // steps lead from the last column of a band to what follows
			}
			all = append(all, p.steps(l, s, start, end))
			start = end
		}
	}
	return all
}

// drawLines draws all lines, bands and shades below them first.
func (p *plotted) drawLines() {
	c := draw.Canvas{Canvas: p.vg, Rectangle: p.area}
	pieces := make([][]piece, len(p.lines))
	for i, l := range p.lines {
		pieces[i] = p.pieces(l)
		for _, x := range pieces[i] {
			fill := pale.in(p.style)
			if x.band {
				fill = tint(l.stroke.ink.in(p.style))
			}
			if len(x.area) > 0 {
				c.FillPolygon(fill, c.ClipPolygonXY(x.area))
			}
		}
	}
	for i, l := range p.lines {
		for _, x := range pieces[i] {
			style := l.stroke
			if x.band {
				style.dashes, style.width = solid, min(style.width, 0.4)
			}
			c.StrokeLines(style.in(p.style), c.ClipLinesXY(x.lines...)...)
		}
	}
}

// A band is decided on blocks of columns, so that a line which only rises steeply is not taken for one. Its columns are
// on average at least so high, and higher for a thick line; dashes are lost in a smaller swing already.
const (
	bandBlock        = 6
	bandSwing        = 3 // how often the net change the values must swing through
	bandHeight       = vg.Length(1.5)
	dashedBandHeight = vg.Length(0.8)
)

// run is the longest run of columns from start that are all drawn as a band, or all as steps.
func (p *plotted) run(l line, columns []column, start int) (end int, band bool) {
	for end = start; end < len(columns); end += bandBlock {
		block := columns[end:min(end+bandBlock, len(columns))]
		if is := p.swings(l, block); end == start {
			band = is
		} else if is != band {
			return end, band
		}
	}
	return len(columns), band
}

func (p *plotted) swings(l line, block []column) bool {
	n := len(block)
	if l.shade || n < 3 || block[n-1].x-block[0].x > 2*bandBlock*dot {
		return false
	}
	least := max(bandHeight, vg.Points(2.5*l.stroke.width))
	if len(l.stroke.dashes) > 0 {
		least = dashedBandHeight
	}
	var swing vg.Length
	for _, c := range block {
		swing += p.y(l.axis, c.max) - p.y(l.axis, c.min)
	}
	net := p.y(l.axis, block[n-1].last) - p.y(l.axis, block[0].first)
	return swing > least*vg.Length(n) && swing > bandSwing*max(net, -net)
}

// band is the area between the extremes of the columns and its outlines.
func (p *plotted) band(l line, columns []column) piece {
	var top, bottom []vg.Point
	for i, c := range columns {
		if i > 0 { // the value is held from the column before
			c.min, c.max = min(c.min, columns[i-1].last), max(c.max, columns[i-1].last)
		}
		top = append(top, vg.Point{X: c.x, Y: p.y(l.axis, c.max)})
		bottom = append(bottom, vg.Point{X: c.x, Y: p.y(l.axis, c.min)})
	}
	area := append([]vg.Point{}, top...)
	for i := len(bottom) - 1; i >= 0; i-- {
		area = append(area, bottom[i])
	}
	return piece{lines: [][]vg.Point{top, bottom}, area: area, band: true}
}

// steps draws columns[start:end] as steps up to the next column, or to the end of the stretch.
func (p *plotted) steps(l line, s stretch, start, end int) piece {
	var steps []vg.Point
	point := func(x vg.Length, v float64) {
		at := vg.Point{X: x, Y: p.y(l.axis, v)}
		if n := len(steps); n == 0 || steps[n-1] != at {
			steps = append(steps, at)
		}
	}
	for i, c := range s.columns[start:end] {
		if i > 0 {
			point(c.x, s.columns[start+i-1].last)
		}
		point(c.x, c.first)
		if c.last-c.min > c.max-c.last { // the extreme nearer to the exit comes last
			point(c.x, c.min)
			point(c.x, c.max)
		} else {
			point(c.x, c.max)
			point(c.x, c.min)
		}
		point(c.x, c.last)
	}
	last := s.columns[end-1].last
	if end < len(s.columns) {
		point(s.columns[end].x, last)
		point(s.columns[end].x, s.columns[end].first)
	} else {
		steps = append(steps, vg.Point{X: s.end, Y: p.y(l.axis, last)})
	}
	x := piece{lines: [][]vg.Point{steps}}
	if l.shade {
		base := p.y(l.axis, 0)
		x.area = append([]vg.Point{{X: steps[0].X, Y: base}}, steps...)
		x.area = append(x.area, vg.Point{X: steps[len(steps)-1].X, Y: base})
	}
	return x
}

// drawMarks draws the glyphs, and the bars of segments, of the events of one class. Of those that would fall on the
// same dot one is drawn.
func (p *plotted) drawMarks(m markLine) {
	type place struct{ x, y int }
	drawn := map[place]bool{}
	for _, k := range m.marks.between(p.time.from, p.time.to) {
		at := vg.Point{X: p.x(k.t), Y: p.y(m.axis, m.level)}
		if m.spans {
			at.Y = p.y(m.axis, float64(k.lo))
			top := p.y(m.axis, float64(k.hi))
			p.rule(m.glyph.ink, m.width, at, vg.Point{X: at.X, Y: max(top, at.Y+dot)})
		}
		where := place{int(at.X / dot), int(at.Y / dot)}
		if !drawn[where] && m.glyph.shape != nil {
			drawn[where] = true
			p.glyph(m.glyph, at)
		}
	}
}
