package judge

import "airtide/internal/stats"

// Difference returns the mean of one sample minus the mean of another. Each sample has one value
// per run. The difference is significant at 5 % if zero lies outside of the interval.
func Difference(of, from []float64, seed uint64) Estimate {
	value, interval := stats.Difference(of, from, seed)
	return Estimate{Value: value, Interval: interval, Runs: min(len(of), len(from))}
}
