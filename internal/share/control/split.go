package control

import (
	"math"
	"slices"
)

// Split divides a rate equally among demands, except that none gets more than it demands while
// another demands more. What is left over is divided equally among all.
func Split(rate float64, demands []float64) []float64 {
	parts := make([]float64, len(demands))
	order := make([]int, len(demands))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case demands[a] < demands[b]:
			return -1
		case demands[a] > demands[b]:
			return 1
		}
		return 0
	})
	left := rate
	for k, i := range order {
		parts[i] = math.Min(demands[i], left/float64(len(order)-k))
		left -= parts[i]
	}
	for i := range parts {
		parts[i] += math.Max(left, 0) / float64(len(parts))
	}
	return parts
}
