package control

import (
	"math"

	"airtide/internal/share/allocate"
)

const (
	// DefaultIndex is the index that agents aim at unless told otherwise. Where terminals differ by
	// a factor of 12, it carries 7 % more than equal airtime (docs/results/share-objective.md).
	DefaultIndex = 0.99
	// LeastIndex is the least index that an agent can aim at.
	LeastIndex = 0.5
	// leastIndexAlpha is the least fairness parameter that an index chooses. There is no floor
	// below it.
	leastIndexAlpha = leastFloorAlpha
	// greatestPart is the greatest airtime of a terminal with an index below 1, in means of all. A
	// member that claims a great standalone rate gains no more by it.
	greatestPart = 1.4
)

// alphaOfIndex returns the least fairness parameter, leastIndexAlpha to 1, with which the improved
// index of the terminals is at least index where airtime alone limits. Such shares are
//
//	x / M = c M^(1/alpha - 1)
//
// so faster terminals get more of the airtime, and the total rises. No part is above greatestPart
// means. Weights are set apart. All terminals know the same standalone rates, so all find the same
// parameter.
func alphaOfIndex(index float64, all []allocate.Terminal) float64 {
	least := 0.0
	most := 1/leastIndexAlpha - 1
	if isFair(all, most, index) {
		return leastIndexAlpha
	}
	for range 20 { // to a millionth
		middle := (least + most) / 2
		if isFair(all, middle, index) {
			least = middle
		} else {
			most = middle
		}
	}
	return 1 / (1 + least)
}

// isFair reports whether the parts M^exponent of all terminals that carry something have at least
// an index, and none is too great.
func isFair(all []allocate.Terminal, exponent, index float64) bool {
	n := 0.0
	greatest := 0.0
	sum := 0.0
	squares := 0.0
	for i := range all {
		if all[i].Demand == 0 {
			continue
		}
		part := math.Pow(all[i].Max, exponent)
		n++
		greatest = max(greatest, part)
		sum += part
		squares += part * part
	}
	return sum*sum >= index*n*squares && greatest*n <= greatestPart*sum
}
