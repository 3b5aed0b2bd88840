package figure

import "math"

// SeriesKind is the kind of line or mark of a series.
type SeriesKind int

// Kinds of series.
const (
	Step   SeriesKind = iota // each value is held until the next sample
	Line                     // values are joined by straight lines
	Bars                     // one bar at each x, beside those of the other series of the panel
	Points                   // markers only
)

// String is the name of the kind, as in JSON.
func (k SeriesKind) String() string { return [...]string{"step", "line", "bars", "points"}[k] }

// Series is one quantity over x.
type Series struct {
	Name  string // entry in the legend; none if empty
	Side  Side
	Kind  SeriesKind
	Style Style
	Data  []Sample
	Shade bool // fills the area below the steps
	// Clip lets rare spikes leave the panel, and the legend says so.
	Clip bool
	// Limit marks a bound that may lie far above everything else. It then leaves the panel instead
	// of squeezing the other series, and the legend says so.
	Limit bool
}

// Sample is a value, or several values of one span of x. A sample whose Last is NaN ends the line
// at X.
type Sample struct {
	X, End                float64 // first and last x of the span
	First, Min, Max, Last float64 // values of the span
	Low, High             float64 // interval of the value, NaN if there is none
}

// Point is a sample with a single value and no interval.
func Point(x, y float64) Sample { return Interval(x, y, math.NaN(), math.NaN()) }

// Interval is a sample with a single value and its interval.
func Interval(x, y, low, high float64) Sample {
	return Sample{X: x, End: x, First: y, Min: y, Max: y, Last: y, Low: low, High: high}
}

// Gap ends a line at x.
func Gap(x float64) Sample { return Point(x, math.NaN()) }

func (s *Sample) absent() bool { return math.IsNaN(s.Last) || math.IsNaN(s.X) }

// extremes are the least and the greatest value, without intervals.
func (s *Series) extremes() (low, high float64, ok bool) { return s.extremesFrom(math.Inf(-1)) }

// extremesFrom are the extremes at or above x. Of a span that ends before x, only the last value
// still shows.
func (s *Series) extremesFrom(x float64) (low, high float64, ok bool) {
	for i := range s.Data {
		d := &s.Data[i]
		if d.absent() {
			continue
		}
		least := d.Min
		most := d.Max
		if d.End < x {
			least = d.Last
			most = d.Last
		}
		if !ok {
			low = least
			high = most
		}
		low = min(low, least)
		high = max(high, most)
		ok = true
	}
	return low, high, ok
}
