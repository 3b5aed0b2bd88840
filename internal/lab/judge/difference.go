package judge

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
)

// Difference is by how much the mean of one sample is above that of another, each with one value per run. Both samples are
// drawn anew for the interval, as independent ones; it is NaN when one of them is a single run. The two differ
// significantly, at 5 %, when zero lies outside.
func Difference(of, from []float64, seed uint64) Estimate {
	n := min(len(of), len(from))
	e := Estimate{Value: stat.Mean(of, nil) - stat.Mean(from, nil), Interval: noInterval, Runs: n}
	if n < 2 {
		return e
	}
	rng := rand.New(rand.NewPCG(seed, stream))
	mean := func(values []float64) float64 {
		sum := 0.0
		for range values {
			sum += values[rng.IntN(len(values))]
		}
		return sum / float64(len(values))
	}
	differences := make([]float64, resamples)
	for i := range differences {
		differences[i] = mean(of) - mean(from)
	}
	e.Interval = percentiles(differences, e.Value, n)
	return e
}
