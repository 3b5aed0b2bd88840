package figure

import (
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// dot is the width of a pixel column: a pixel at 300 dpi, also for formats without pixels.
const dot = vg.Inch / 300

// column is the part of a series in one pixel column. The line enters at first, leaves at last and
// reaches from min to max, so that a spike of one sample keeps its height, however many samples
// share the column.
type column struct {
	x                     vg.Length
	first, min, max, last float64
}

// stretch is a part of a series without a gap; the last value is held until end.
type stretch struct {
	columns []column
	end     vg.Length
}

// stretches gathers the samples of a series into pixel columns.
func (p *plotted) stretches(s *Series) []stretch {
	var all []stretch
	var now []column
	finish := func(x float64) {
		if len(now) == 0 {
			return
		}
		last := now[len(now)-1].x
		all = append(all, stretch{now, max(p.atX(x), last+dot)}) // a value that was there for a moment shows as a dot
		now = nil
	}
	columnOf := func(x vg.Length) int { return int(math.Floor(float64((x - p.area.Min.X) / dot))) }
	for i, d := range s.Data {
		if d.absent() {
			if i == len(s.Data)-1 || p.atX(d.X) < p.atX(s.Data[i+1].X)-dot/2 {
				finish(min(d.X, p.x.hi))
			}
			continue
		}
		c := column{p.atX(d.X), d.First, d.Min, d.Max, d.Last}
		if n := len(now); n > 0 && columnOf(now[n-1].x) == columnOf(c.x) {
			before := &now[n-1]
			before.min = min(before.min, c.min)
			before.max = max(before.max, c.max)
			before.last = c.last
		} else {
			now = append(now, c)
		}
	}
	finish(p.x.hi)
	return all
}

// piece is a part of a drawn line: its lines, and the areas that lie behind all lines.
type piece struct {
	lines [][]vg.Point
	areas [][]vg.Point
	band  bool
}

// The time to draw a path rises with the square of the number of times that it crosses a row of
// pixels, so that a long one is cut. The parts of an area overlap by some columns, and no seam
// shows. Those of a line share a step.
const (
	maxCrossings = 32
	areaOverlap  = 16
	lineOverlap  = 2
)

// cutPath calls add for each part of a path.
func (p *plotted) cutPath(path []vg.Point, overlap int, add func(from, to int)) {
	most := maxCrossings * (p.area.Max.Y - p.area.Min.Y)
	from := 0
	var length vg.Length // vertical
	for i := 1; i < len(path); i++ {
		length += max(path[i].Y-path[i-1].Y, path[i-1].Y-path[i].Y)
		if length > most && i-from > 2*overlap {
			add(from, i)
			from = i - overlap
			length = 0
		}
	}
	add(from, len(path))
}

// pieces makes steps of a series. If it swings so fast that the steps would be a solid block, it
// becomes a band from the least to the greatest value.
func (p *plotted) pieces(s *Series) []piece {
	var all []piece
	for _, part := range p.stretches(s) {
		for start := 0; start < len(part.columns); {
			end, band := p.run(s, part.columns, start)
			if band {
				all = append(all, p.band(s, part.columns[start:end]))
				start = end - 1 // the next steps begin at the last column of the band
			}
			all = append(all, p.steps(s, part, start, end))
			start = end
		}
	}
	return all
}

// drawSteps draws all series of steps, bands and shades below them first.
func (p *plotted) drawSteps() {
	c := p.clipped(p.area)
	pieces := make([][]piece, len(p.Series))
	for i := range p.Series {
		s := &p.Series[i]
		if s.Kind != Step {
			continue
		}
		pieces[i] = p.pieces(s)
		for _, x := range pieces[i] {
			fill := p.colour(Grid)
			if x.band {
				fill = p.theme.tint(s.Style.Ink, p.theme.Tint)
			}
			for _, area := range x.areas {
				c.FillPolygon(fill, c.ClipPolygonXY(area))
			}
		}
	}
	for i := range p.Series {
		thin := p.thinning(pieces[i], p.Series[i].Style.Width)
		for _, x := range pieces[i] {
			style := p.Series[i].Style
			style.Width *= thin
			if x.band {
				style.Dash = Solid
				style.Width = min(style.Width, 0.4)
			}
			for _, line := range x.lines {
				p.cutPath(line, lineOverlap, func(from, to int) {
					c.StrokeLines(p.stroke(style), c.ClipLinesXY(line[from:to])...)
				})
			}
		}
	}
}

// A line that covers more than maxCover of the panel is drawn thinner, down to leastWidth points,
// so that lines behind it can be seen.
const (
	maxCover   = 0.12
	leastWidth = 0.35
)

// thinning is the factor for the width of a line, given in points.
func (p *plotted) thinning(pieces []piece, width float64) float64 {
	var length vg.Length
	for _, x := range pieces {
		if x.band {
			continue
		}
		for _, l := range x.lines {
			for i := 1; i < len(l); i++ {
				length += vg.Length(math.Abs(float64(l[i].Y - l[i-1].Y)))
			}
		}
	}
	area := (p.area.Max.X - p.area.Min.X) * (p.area.Max.Y - p.area.Min.Y)
	cover := float64(length*vg.Points(width)) / float64(area)
	if cover <= maxCover || width <= leastWidth {
		return 1
	}
	return max(leastWidth/width, maxCover/cover)
}

// A band is decided on blocks of columns, so that a line that only rises steeply does not become
// one. Its columns are on average at least so high, and higher for a thick line; dashes are lost in
// a smaller swing already.
const (
	bandBlock        = 6
	bandSwing        = 3 // least total change of a band's values, in multiples of their net change
	bandHeight       = vg.Length(1.5)
	dashedBandHeight = vg.Length(0.8)
)

// run is the longest run of columns from start that are all drawn as a band, or all as steps.
func (p *plotted) run(s *Series, columns []column, start int) (end int, band bool) {
	for end = start; end < len(columns); end += bandBlock {
		block := columns[end:min(end+bandBlock, len(columns))]
		if is := p.swings(s, block); end == start {
			band = is
		} else if is != band {
			return end, band
		}
	}
	return len(columns), band
}

func (p *plotted) swings(s *Series, block []column) bool {
	n := len(block)
	if s.Shade || n < 3 || block[n-1].x-block[0].x > 2*bandBlock*dot {
		return false
	}
	least := max(bandHeight, vg.Points(2.5*s.Style.Width))
	if len(dashes[s.Style.Dash]) > 0 {
		least = dashedBandHeight
	}
	var swing vg.Length
	for _, c := range block {
		swing += p.atY(s.Side, c.max) - p.atY(s.Side, c.min)
	}
	net := p.atY(s.Side, block[n-1].last) - p.atY(s.Side, block[0].first)
	return swing > least*vg.Length(n) && swing > bandSwing*max(net, -net)
}

// band is the area between the extremes of the columns and its outlines.
func (p *plotted) band(s *Series, columns []column) piece {
	var top, bottom []vg.Point
	for i, c := range columns {
		if i > 0 { // the value is held from the column before
			c.min = min(c.min, columns[i-1].last)
			c.max = max(c.max, columns[i-1].last)
		}
		top = append(top, vg.Point{X: c.x, Y: p.atY(s.Side, c.max)})
		bottom = append(bottom, vg.Point{X: c.x, Y: p.atY(s.Side, c.min)})
	}
	x := piece{lines: [][]vg.Point{top, bottom}, band: true}
	p.cutPath(top, areaOverlap, func(from, to int) {
		area := slices.Clone(top[from:to])
		for i := to - 1; i >= from; i-- {
			area = append(area, bottom[i])
		}
		x.areas = append(x.areas, area)
	})
	return x
}

// steps draws columns[start:end] as steps up to the next column, or to the end of the stretch.
func (p *plotted) steps(s *Series, part stretch, start, end int) piece {
	var steps []vg.Point
	point := func(x vg.Length, v float64) {
		at := vg.Point{X: x, Y: p.atY(s.Side, v)}
		if n := len(steps); n == 0 || steps[n-1] != at {
			steps = append(steps, at)
		}
	}
	for i, c := range part.columns[start:end] {
		if i > 0 {
			point(c.x, part.columns[start+i-1].last)
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
	last := part.columns[end-1].last
	if end < len(part.columns) {
		point(part.columns[end].x, last)
		point(part.columns[end].x, part.columns[end].first)
	} else {
		steps = append(steps, vg.Point{X: part.end, Y: p.atY(s.Side, last)})
	}
	x := piece{lines: [][]vg.Point{steps}}
	if s.Shade {
		base := p.atY(s.Side, 0)
		p.cutPath(steps, areaOverlap, func(from, to int) {
			area := append([]vg.Point{{X: steps[from].X, Y: base}}, steps[from:to]...)
			x.areas = append(x.areas, append(area, vg.Point{X: steps[to-1].X, Y: base}))
		})
	}
	return x
}
