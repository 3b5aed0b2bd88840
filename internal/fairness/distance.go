package fairness

import "math"

// Distance is how far rates x lie from others, such as the optimum's, in nats. For alpha = 1 it is
// the weighted mean of
//
//	ln(optimum_i / x_i)
//
// so it is about 0.1 when all terminals get a tenth less than the optimum gives them. For any alpha
// it is the logarithm of the ratio of two rates: of what each terminal would have to get, all the
// same, for the optimum's utility and for that of x. That is a mean: the geometric one for alpha =
// 1, the arithmetic one for 0, the harmonic one for 2, the least for infinity (the measure of A.
// Atkinson, J. Economic Theory 2, 1970).
//
// It is 0 at the optimum and greater at all other rates within the limits; below 0, x is beyond the
// limits. It is +Inf when alpha is 1 or more and a terminal gets nothing that the optimum gives
// something. Terminals that get nothing of either are left out. Weights of nil are all 1. NaN where
// the lengths differ and where nobody gets anything of either.
func Distance(alpha float64, x, optimum, weights []float64) float64 {
	if len(x) != len(optimum) || weights != nil && len(weights) != len(x) {
		return math.NaN()
	}
	var own, best, w []float64
	for i := range x {
		if x[i] == 0 && optimum[i] == 0 {
			continue
		}
		own, best = append(own, x[i]), append(best, optimum[i])
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
	// By logarithms, of which the one that counts most is taken out: powers of rates are beyond the
	// range of numbers soon.
	order := 1 - alpha
	least, most, sum, whole := math.Inf(1), math.Inf(-1), 0.0, 0.0
	for i, v := range x {
		least, most = min(least, math.Log(v)), max(most, math.Log(v))
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
