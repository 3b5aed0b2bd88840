package judge

import "airtide/internal/stats"

// Difference returns by how much the mean of one sample exceeds the mean of another, each with one
// value per run. The samples differ significantly, at 5 %, if zero lies outside of the interval.
func Difference(of, from []float64, seed uint64) Estimate {
	value, interval := stats.Difference(of, from, seed)
	return Estimate{Value: value, Interval: interval, Runs: min(len(of), len(from))}
}
