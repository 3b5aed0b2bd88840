package judge

import (
	"slices"

	"gonum.org/v1/gonum/stat"

	"airtide/internal/stats"
)

// Interval is a value with its 95 % confidence interval. Low and High are NaN if there were too few
// runs.
type Interval = stats.Interval

// Summary describes a measurement at one point, over the runs of the point.
type Summary struct {
	Runs   int     `json:"runs"`
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"`
	Median float64 `json:"median"`
	// Interval is the 95 % bootstrap interval of the mean. It is cut at 0 if no value is negative,
	// because the widening for few values may take it below.
	Interval Interval `json:"interval"`
}

// Summarise computes statistics of one value per run. The standard deviation has the divisor n-1;
// it is NaN for a single run.
func Summarise(values []float64, seed uint64) Summary {
	mean := func(x []float64) float64 { return stat.Mean(x, nil) }
	s := Summary{Runs: len(values), Mean: mean(values), SD: stat.StdDev(values, nil), Median: stats.Median(values)}
	s.Interval = stats.Bootstrap(values, mean, seed)
	if len(values) > 0 && slices.Min(values) >= 0 {
		s.Interval.Low = max(0, s.Interval.Low)
	}
	return s
}
