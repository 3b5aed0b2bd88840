package figure

import (
	"math"

	"gonum.org/v1/plot/vg"
)

// drawLines draws the series of straight lines with their markers and intervals.
func (p *plotted) drawLines() {
	c := p.clipped(p.area)
	for i := range p.Series {
		s := &p.Series[i]
		if s.Kind != Line {
			continue
		}
		c.StrokeLines(p.stroke(s.Style), c.ClipLinesXY(p.polylines(s)...)...)
		for k := range s.Data {
			d := &s.Data[k]
			if d.absent() {
				continue
			}
			at := vg.Point{X: p.atX(d.X), Y: p.atY(s.Side, d.Last)}
			p.drawInterval(s.Side, s.Style.Ink, at.X, d, 3)
			if s.Style.Marker != NoMarker && p.inside(at) {
				p.marker(s.Style, at)
			}
		}
	}
}

// polylines are the points of a series, broken at gaps. Of a span, its four values are spread over
// it.
func (p *plotted) polylines(s *Series) [][]vg.Point {
	var all [][]vg.Point
	broken := true
	for i := range s.Data {
		d := &s.Data[i]
		if d.absent() {
			broken = true
			continue
		}
		if broken {
			all = append(all, nil)
			broken = false
		}
		last := &all[len(all)-1]
		for _, v := range d.points() {
			*last = append(*last, vg.Point{X: p.atX(v[0]), Y: p.atY(s.Side, v[1])})
		}
	}
	return all
}

// points are the values of a span as up to four points: the first, the least, the greatest and the
// last.
func (d *Sample) points() [][2]float64 {
	points := [][2]float64{{d.X, d.First}}
	if d.End <= d.X {
		return points
	}
	middle := d.X + (d.End-d.X)/2
	if d.Min < min(d.First, d.Last) {
		points = append(points, [2]float64{middle, d.Min})
	}
	if d.Max > max(d.First, d.Last) {
		points = append(points, [2]float64{middle, d.Max})
	}
	return append(points, [2]float64{d.End, d.Last})
}

// drawInterval draws the interval of a sample with caps of a half width. A cap outside of the panel
// is left out.
func (p *plotted) drawInterval(side Side, ink Ink, x vg.Length, d *Sample, half vg.Length) {
	if math.IsNaN(d.Low) || math.IsNaN(d.High) {
		return
	}
	a := p.y.of(side)
	low := p.atY(side, max(d.Low, a.lo))
	high := p.atY(side, min(d.High, a.hi))
	p.line(ink, 0.9, vg.Point{X: x, Y: low}, vg.Point{X: x, Y: high})
	if d.Low >= a.lo {
		p.line(ink, 0.9, vg.Point{X: x - half, Y: low}, vg.Point{X: x + half, Y: low})
	}
	if d.High <= a.hi {
		p.line(ink, 0.9, vg.Point{X: x - half, Y: high}, vg.Point{X: x + half, Y: high})
	}
}

// inside is true for a point in the data area.
func (p *plotted) inside(at vg.Point) bool {
	const slack = 0.01 // points
	return at.X >= p.area.Min.X-slack && at.X <= p.area.Max.X+slack &&
		at.Y >= p.area.Min.Y-slack && at.Y <= p.area.Max.Y+slack
}
