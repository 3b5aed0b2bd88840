package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// confidence of all intervals.
	confidence = 0.95
	// Resamples of a bootstrap. With so many, the ends of a 95 % interval vary by some percent of
	// its width.
	Resamples = 4000
	// stream separates the bootstrap's random numbers from others drawn by the same seed.
	stream = 0x6a756467
)

// Interval holds a value with 95 % confidence. Low and High are NaN if there are too few values.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// UnknownInterval is the interval of fewer than two values.
var UnknownInterval = Interval{Low: math.NaN(), High: math.NaN()}

// Resampler returns the random numbers of a bootstrap. They differ from other random numbers of the
// same seed.
func Resampler(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

// Bootstrap returns the interval of a statistic of one sample.
func Bootstrap(values []float64, statistic func([]float64) float64, seed uint64) Interval {
	if len(values) < 2 {
		return UnknownInterval
	}
	rng := Resampler(seed)
	drawn := make([]float64, len(values))
	statistics := make([]float64, Resamples)
	for i := range statistics {
		for j := range drawn {
			drawn[j] = values[rng.IntN(len(values))]
		}
		statistics[i] = statistic(drawn)
	}
	return IntervalOf(statistics, statistic(values), len(values))
}

// IntervalOf returns the interval of an estimate, given its values in the resamples of a sample of
// size n. It sorts them. Both arms of the percentile interval are lengthened to the width of
// Student's interval for normal values (T. Hesterberg, The American Statistician 69(4), 2015). The
// interval is unknown if a resample has no value.
func IntervalOf(statistics []float64, estimate float64, n int) Interval {
	if n < 2 || slices.ContainsFunc(statistics, math.IsNaN) {
		return UnknownInterval
	}
	slices.Sort(statistics)
	const tail = (1 - confidence) / 2
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1 - tail)
	// The plain interval is too narrow for few values: the resamples vary about the sample's own
	// mean, hence sqrt((n-1)/n), and its quantiles are normal, not Student's. Further quantiles
	// would not help: those of five values end at the least.
	longer := t / distuv.UnitNormal.Quantile(1-tail) * math.Sqrt(float64(n)/float64(n-1))
	return Interval{
		Low:  estimate - longer*max(0, estimate-stat.Quantile(tail, stat.LinInterp, statistics, nil)),
		High: estimate + longer*max(0, stat.Quantile(1-tail, stat.LinInterp, statistics, nil)-estimate),
	}
}

// MarshalJSON writes the bounds, or null for an unknown interval.
func (i Interval) MarshalJSON() ([]byte, error) {
	if math.IsNaN(i.Low) || math.IsNaN(i.High) {
		return []byte("null"), nil
	}
	type plain Interval
	return json.Marshal(plain(i))
}

// Difference returns by how much the mean of one sample exceeds the mean of another, and its
// interval. Both samples are drawn anew independently. The interval is unknown if a sample has a
// single value.
func Difference(of, from []float64, seed uint64) (float64, Interval) {
	value := stat.Mean(of, nil) - stat.Mean(from, nil)
	n := min(len(of), len(from))
	if n < 2 {
		return value, UnknownInterval
	}
	rng := Resampler(seed)
	mean := func(values []float64) float64 {
		sum := 0.0
		for range values {
			sum += values[rng.IntN(len(values))]
		}
		return sum / float64(len(values))
	}
	differences := make([]float64, Resamples)
	for i := range differences {
		differences[i] = mean(of) - mean(from)
	}
	return value, IntervalOf(differences, value, n)
}
