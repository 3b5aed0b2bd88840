package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Rank returns the nearest rank, 1 to n, of a share of n values.
func Rank(share float64, n uint64) uint64 {
	return min(max(uint64(math.Ceil(share*float64(n))), 1), n)
}

// WeightedQuantile returns the least value that, with the smaller ones, has a share of the whole
// weight. The values are sorted and have the weights in the same order.
func WeightedQuantile(sorted, weights []float64, share float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return stat.Quantile(share, stat.Empirical, sorted, weights)
}

// Median returns the middle value, or the mean of the two in the middle; NaN without values.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(n-1)/2] + s[n/2]) / 2
}

// Ranks returns the place of each value in the order, from 0. Equal values have the mean of their
// places.
func Ranks(values []float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	ranks := make([]float64, len(values))
	for i, v := range values {
		first, found := slices.BinarySearch(sorted, v)
		last := first
		for found && last+1 < len(sorted) && sorted[last+1] == v {
			last++
		}
		ranks[i] = float64(first+last) / 2
	}
	return ranks
}
