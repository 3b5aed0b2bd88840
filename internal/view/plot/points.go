package plot

import (
	"slices"

	"airtide/internal/tcp"
)

// Point is a value of a field at a time.
type Point struct{ TimeNs, Value int64 }

// NewFieldSeries makes a Series of fields of all flows, for FlowSeries.Points. Of the options it
// uses OriginNs, From and To.
func NewFieldSeries(fields []tcp.Field, o Options) *Series {
	s := NewSeries(nil, nil, o)
	s.fields = slices.Compact(slices.Sorted(slices.Values(fields)))
	return s
}

// Points are a field over time, in stretches between which it was absent. If there were more values
// than are kept, a span of time has its first, least, greatest and last value.
func (fs *FlowSeries) Points(f tcp.Field) [][]Point {
	var all [][]Point
	var stretch []Point
	for _, b := range fs.curve(f).buckets {
		stretch = append(stretch, Point{b.t0, b.first})
		if b.t1 > b.t0 {
			middle := b.t0 + (b.t1-b.t0)/2
			if b.min < min(b.first, b.last) {
				stretch = append(stretch, Point{middle, b.min})
			}
			if b.max > max(b.first, b.last) {
				stretch = append(stretch, Point{middle, b.max})
			}
			stretch = append(stretch, Point{b.t1, b.last})
		}
		if b.gap != noGap {
			all = append(all, stretch)
			stretch = nil
		}
	}
	if stretch != nil {
		all = append(all, stretch)
	}
	return all
}
