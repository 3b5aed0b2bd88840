package figure

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

const (
	labelFont   = 0.9            // part of the text's font size
	labelLine   = 0.4            // width of the line from a marker to its label, points
	labelRadius = vg.Length(3.6) // radius of a marker with a label
)

// label is a name to be written beside a marker.
type label struct {
	text   string
	marker vg.Point
}

// labels are the names of a panel and the boxes that they should not cover.
type labels struct {
	all       []label
	obstacles []vg.Rectangle
}

// drawLabels writes each name in the place around its marker that overlaps least with markers and
// with the names before it. The markers farthest to the right choose first, since they have the
// fewest places.
func (p *plotted) drawLabels(l *labels) {
	size := p.textSize * labelFont
	taken := l.obstacles
	slices.SortStableFunc(l.all, func(a, b label) int { return cmp.Compare(b.marker.X, a.marker.X) })
	for _, name := range l.all {
		best := vg.Rectangle{}
		least := math.Inf(1)
		for i, place := range placesFor(size, name) {
			cost := float64(i) * 0.2 // prefers the first of equally good places
			cost += 4 * overlapWith(taken, place)
			for _, part := range connection(name.marker, place) {
				cost += 6 * overlapWith(taken, part)
			}
			cost += 4 * float64(areaOf(place)-overlap(place, p.area))
			if cost < least {
				best = place
				least = cost
			}
		}
		if parts := connection(name.marker, best); len(parts) > 0 {
			taken = append(taken, parts...)
			p.line(Text, labelLine, centreOf(parts[0]), centreOf(parts[len(parts)-1]))
		}
		taken = append(taken, best)
		p.write(size, vg.Point{X: best.Min.X, Y: best.Min.Y + size*0.25}, alignLeft, name.text)
	}
}

// placesFor are the boxes where a name may stand: beside, above and below its marker, at several
// distances.
func placesFor(size font.Length, name label) []vg.Rectangle {
	wide := widthOf(size, name.text)
	high := size * 1.1
	var all []vg.Rectangle
	for _, far := range []vg.Length{5.5, 12, 20, 30, 42} {
		const around = 16
		for i := range around {
			// From the right on, alternately up and down.
			angle := 2 * math.Pi / around * float64((i+1)/2) * float64(1-2*(i%2))
			right := vg.Length(math.Cos(angle))
			up := vg.Length(math.Sin(angle))
			at := vg.Point{X: name.marker.X + far*right, Y: name.marker.Y + far*up}
			// The text ends at, or stands on, the place that is nearest to the marker.
			from := vg.Point{X: at.X - wide*(1-right)/2, Y: at.Y - high*(1-up)/2}
			all = append(all, vg.Rectangle{Min: from, Max: vg.Point{X: from.X + wide, Y: from.Y + high}})
		}
	}
	return all
}

// connection is the line from a marker to a distant label, in boxes of a point. A label beside its
// marker has none.
func connection(marker vg.Point, place vg.Rectangle) (parts []vg.Rectangle) {
	end := vg.Point{
		X: min(max(marker.X, place.Min.X), place.Max.X),
		Y: min(max(marker.Y, place.Min.Y), place.Max.Y),
	}
	far := vg.Length(math.Hypot(float64(end.X-marker.X), float64(end.Y-marker.Y)))
	if far < 2*labelRadius {
		return nil
	}
	for at := labelRadius + 1; at < far-1; at++ {
		middle := vg.Point{X: marker.X + at/far*(end.X-marker.X), Y: marker.Y + at/far*(end.Y-marker.Y)}
		parts = append(parts, square(middle, 0.5))
	}
	return parts
}

func overlapWith(boxes []vg.Rectangle, box vg.Rectangle) float64 {
	sum := vg.Length(0)
	for _, b := range boxes {
		sum += overlap(box, b)
	}
	return float64(sum)
}

// overlap is the area that two rectangles share.
func overlap(a, b vg.Rectangle) vg.Length {
	wide := min(a.Max.X, b.Max.X) - max(a.Min.X, b.Min.X)
	high := min(a.Max.Y, b.Max.Y) - max(a.Min.Y, b.Min.Y)
	return max(wide, 0) * max(high, 0)
}

func areaOf(r vg.Rectangle) vg.Length { return (r.Max.X - r.Min.X) * (r.Max.Y - r.Min.Y) }

func centreOf(r vg.Rectangle) vg.Point {
	return vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
}
