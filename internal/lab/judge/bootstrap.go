package judge

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	// confidence of all intervals.
	confidence = 0.95
	// resamples of the bootstrap: the quantiles of an interval at 95 % then vary by some percent of its width.
	resamples = 4000
	// stream separates the bootstrap's random numbers from others drawn by the same seed.
	stream = 0x6a756467
)

// Interval holds a value with 95 % confidence. Low and High are NaN when there were too few runs to say.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// noInterval is what a single run allows to say.
var noInterval = Interval{Low: math.NaN(), High: math.NaN()}

// Summary is a measurement at one point, over the runs of the point.
type Summary struct {
	Runs   int     `json:"runs"`
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"`
	Median float64 `json:"median"`
	// Interval is the 95 % bootstrap interval of the mean.
	Interval Interval `json:"interval"`
}

// Summarise gives the statistics of one value per run. The standard deviation is that of a sample (n-1 below the line),
// and NaN for a single run.
func Summarise(values []float64, seed uint64) Summary {
	mean := func(x []float64) float64 { return stat.Mean(x, nil) }
	s := Summary{Runs: len(values), Mean: mean(values), SD: stat.StdDev(values, nil), Median: Median(values)}
	s.Interval = bootstrap(values, mean, seed)
	return s
}

// bootstrap is the interval of a statistic of one sample.
func bootstrap(values []float64, statistic func([]float64) float64, seed uint64) Interval {
	if len(values) < 2 {
		return noInterval
	}
	rng := rand.New(rand.NewPCG(seed, stream))
	drawn, statistics := make([]float64, len(values)), make([]float64, resamples)
	for i := range statistics {
		for j := range drawn {
			drawn[j] = values[rng.IntN(len(values))]
		}
		statistics[i] = statistic(drawn)
	}
	return percentiles(statistics, statistic(values), len(values))
}

// percentiles takes the interval of an estimate from the statistics of the resamples, n being the size of the sample. The
// plain percentile interval of few repeats is too narrow, by sqrt((n-1)/n) because the resamples vary about the sample's
// own mean, and because its quantiles are the normal distribution's and not Student's (T. Hesterberg, What Teachers Should
// Know about the Bootstrap, The American Statistician 69(4), 2015). Both its arms are lengthened by these two factors, so
// that it is Student's interval for normal values and as lopsided as the resamples for others. Further quantiles of the
// resamples would not do: those of five values end at the least of them. It is NaN when a resample had no value.
func percentiles(statistics []float64, estimate float64, n int) Interval {
	if n < 2 || slices.ContainsFunc(statistics, math.IsNaN) {
		return noInterval
	}
	slices.Sort(statistics)
	const tail = (1 - confidence) / 2
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1 - tail)
	longer := t / distuv.UnitNormal.Quantile(1-tail) * math.Sqrt(float64(n)/float64(n-1))
	return Interval{
		Low:  estimate - longer*max(0, estimate-stat.Quantile(tail, stat.LinInterp, statistics, nil)),
		High: estimate + longer*max(0, stat.Quantile(1-tail, stat.LinInterp, statistics, nil)-estimate),
	}
}

// Median is the middle value, or the mean of the two in the middle; NaN of nothing.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(n-1)/2] + s[n/2]) / 2
}
