package show

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// dots are a small mark for each run and a large one for each mean.
type dots struct {
	points, means []point
	look          look
}

// Sizes of marks.
const (
	smallMark = vg.Length(1.5)
	largeMark = vg.Length(3.6)
)

// Plot implements plot.Plotter.
func (d dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	small, large := d.look.glyph(), d.look.glyph()
	small.Radius, small.Color = smallMark, tint(d.look.ink)
	large.Radius = largeMark
	if len(d.points) > len(d.means) {
		for _, pt := range d.points {
			if !math.IsNaN(pt.x) && !math.IsNaN(pt.y) {
				c.DrawGlyph(small, vg.Point{X: x(pt.x), Y: y(pt.y)})
			}
		}
	}
	for _, middle := range d.means {
		c.DrawGlyph(large, vg.Point{X: x(middle.x), Y: y(middle.y)})
	}
}

// means are the middles of the points of the same point of the sweep that have both values.
func (s *series) means() (means []point) {
	var names []string
	var counts []float64
	for i, pt := range s.points {
		if math.IsNaN(pt.x) || math.IsNaN(pt.y) || i >= len(s.of) {
			continue
		}
		at := slices.Index(names, s.of[i])
		if at < 0 {
			at = len(names)
			names, counts, means = append(names, s.of[i]), append(counts, 0), append(means, point{0, 0, math.NaN(), math.NaN()})
		}
		counts[at]++
		means[at].x += (pt.x - means[at].x) / counts[at]
		means[at].y += (pt.y - means[at].y) / counts[at]
	}
	return means
}

// labels are the names of series beside their means, where they hide least.
type labels struct {
	font font.Length
	all  []label
	runs []point
}

type label struct {
	text string
	mean point
}

func (l *labels) add(s series, name string) {
	l.runs = append(l.runs, s.points...)
	for _, middle := range s.means() {
		l.all = append(l.all, label{name, middle})
	}
}

// Plot implements plot.Plotter. Each label takes the place, of those round its mark, that overlaps least with marks and with
// the labels before it; the marks farthest to the right choose first, since they have the fewest places.
func (l *labels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	box := func(at point, half vg.Length) vg.Rectangle {
		return vg.Rectangle{Min: vg.Point{X: x(at.x) - half, Y: y(at.y) - half}, Max: vg.Point{X: x(at.x) + half, Y: y(at.y) + half}}
	}
	var taken []vg.Rectangle
	for _, one := range l.all {
		taken = append(taken, box(one.mean, largeMark))
	}
	for _, pt := range l.runs {
		if !math.IsNaN(pt.x) && !math.IsNaN(pt.y) {
			taken = append(taken, box(pt, smallMark))
		}
	}
	order := slices.Clone(l.all)
	slices.SortStableFunc(order, func(a, b label) int {
		switch {
		case a.mean.x > b.mean.x:
			return -1
		case a.mean.x < b.mean.x:
			return 1
		}
		return 0
	})
	style := writing(l.font)
	for _, one := range order {
		if one.text == "" {
			continue
		}
		mark := vg.Point{X: x(one.mean.x), Y: y(one.mean.y)}
		best, least := vg.Rectangle{}, math.Inf(1)
		for i, place := range l.places(one.text, mark) {
			cost := float64(i) * 0.2 // of places that are as good the first
			for _, t := range taken {
				cost += 4 * float64(overlap(place, t))
			}
			for _, part := range lead(mark, place) {
				for _, t := range taken {
					cost += 6 * float64(overlap(part, t))
				}
			}
			cost += 4 * float64(size(place)-overlap(place, c.Rectangle))
			if cost < least {
				best, least = place, cost
			}
		}
		if parts := lead(mark, best); len(parts) > 0 {
			taken = append(taken, parts...)
			from, to := centre(parts[0]), centre(parts[len(parts)-1])
			c.StrokeLine2(draw.LineStyle{Color: black, Width: vg.Points(0.4)}, from.X, from.Y, to.X, to.Y)
		}
		taken = append(taken, best)
		c.FillText(style, vg.Point{X: best.Min.X, Y: best.Min.Y + l.font*0.25}, one.text)
	}
}

// lead is a thin line from a mark to a label that stands at a distance, in pieces of a point; none where it stands beside.
func lead(mark vg.Point, place vg.Rectangle) (parts []vg.Rectangle) {
	end := vg.Point{X: min(max(mark.X, place.Min.X), place.Max.X), Y: min(max(mark.Y, place.Min.Y), place.Max.Y)}
	far := vg.Length(math.Hypot(float64(end.X-mark.X), float64(end.Y-mark.Y)))
	if far < 2*largeMark {
		return nil
	}
	for at := largeMark + 1; at < far-1; at++ {
		middle := vg.Point{X: mark.X + at/far*(end.X-mark.X), Y: mark.Y + at/far*(end.Y-mark.Y)}
		parts = append(parts, vg.Rectangle{Min: vg.Point{X: middle.X - 0.5, Y: middle.Y - 0.5}, Max: vg.Point{X: middle.X + 0.5, Y: middle.Y + 0.5}})
	}
	return parts
}

func centre(r vg.Rectangle) vg.Point {
	return vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
}

// places are those where a text may stand by a mark: beside, above and below it, and at some distance.
func (l *labels) places(text string, mark vg.Point) []vg.Rectangle {
	wide, high := widthOf(l.font, text), l.font*1.1
	var all []vg.Rectangle
	for _, far := range []vg.Length{5.5, 12, 20, 30, 42} {
		const around = 16
		for i := range around {
			// From the right on alternately up and down.
			angle := 2 * math.Pi / around * float64((i+1)/2) * float64(1-2*(i%2))
			at := vg.Point{X: mark.X + far*vg.Length(math.Cos(angle)), Y: mark.Y + far*vg.Length(math.Sin(angle))}
			// The text ends at, or stands on, what lies nearest to the mark.
			from := vg.Point{X: at.X - wide*vg.Length(1-math.Cos(angle))/2, Y: at.Y - high*vg.Length(1-math.Sin(angle))/2}
			all = append(all, vg.Rectangle{Min: from, Max: vg.Point{X: from.X + wide, Y: from.Y + high}})
		}
	}
	return all
}

// overlap is the area that two rectangles share.
func overlap(a, b vg.Rectangle) vg.Length {
	wide := min(a.Max.X, b.Max.X) - max(a.Min.X, b.Min.X)
	high := min(a.Max.Y, b.Max.Y) - max(a.Min.Y, b.Min.Y)
	return max(wide, 0) * max(high, 0)
}

func size(r vg.Rectangle) vg.Length { return (r.Max.X - r.Min.X) * (r.Max.Y - r.Min.Y) }
