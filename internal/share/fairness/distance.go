package fairness

import "math"

// Distance is the distance in nats of rates x from reference rates, such as the optimum. For alpha
// = 1 it is the weighted mean of
//
//	ln(optimum_i / x_i)
//
// so it is about 0.1 if every terminal gets a tenth less than the optimum gives it. For any alpha
// it is the logarithm of a ratio of two means, of the optimum and of x: geometric for alpha = 1,
// arithmetic for 0, harmonic for 2, the minimum for infinity. A mean is the equal rate of all
// terminals that has the same utility (the measure of A. Atkinson, J. Economic Theory 2, 1970).
//
// Distance is 0 at the optimum, greater at all other rates within the limits, and below 0 only
// beyond the limits. It is +Inf if alpha is 1 or more and a terminal gets nothing that gets
// something in the optimum. Terminals that get nothing in both are left out. Nil weights mean that
// all are 1. The result is NaN if the lengths differ or if no terminal is left.
func Distance(alpha float64, x, optimum, weights []float64) float64 {
	if len(x) != len(optimum) || weights != nil && len(weights) != len(x) {
		return math.NaN()
	}
	var own, best, w []float64
	for i := range x {
		if x[i] == 0 && optimum[i] == 0 {
			continue
		}
		own = append(own, x[i])
		best = append(best, optimum[i])
		if weights == nil {
			w = append(w, 1)
		} else {
			w = append(w, weights[i])
		}
	}
	return logMean(alpha, best, w) - logMean(alpha, own, w)
}

// logMean is the logarithm of the weighted power mean of order 1 - alpha.
func logMean(alpha float64, x, weights []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	// Divide by the greatest power, by logarithms, since powers of rates soon exceed the range of
	// float64.
	order := 1 - alpha
	least := math.Inf(1)
	most := math.Inf(-1)
	sum := 0.0
	whole := 0.0
	for i, v := range x {
		least = min(least, math.Log(v))
		most = max(most, math.Log(v))
		sum += weights[i] * math.Log(v)
		whole += weights[i]
	}
	switch {
	case math.IsInf(alpha, 1) || order < 0 && math.IsInf(least, -1):
		return least
	case order == 0:
		return sum / whole
	}
	outstanding := most
	if order < 0 {
		outstanding = least
	}
	if math.IsInf(outstanding, -1) { // nobody has anything
		return outstanding
	}
	sum = 0
	for i, v := range x {
		sum += weights[i] * math.Exp(order*(math.Log(v)-outstanding))
	}
	return outstanding + math.Log(sum/whole)/order
}
