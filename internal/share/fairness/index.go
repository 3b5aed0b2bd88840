package fairness

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Jain is Jain's fairness index of rates, (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when
// one has all (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984). It is NaN without rates and when all
// are zero.
func Jain(x []float64) float64 {
	sum := floats.Sum(x)
	squares := floats.Dot(x, x)
	return sum * sum / (float64(len(x)) * squares)
}

// NormalisedJain is Jain's index of y = x/M, the rates over the rates that each terminal reaches
// alone. It is the improved fairness index of Matsuno et al. 2021 as its text describes it: 1 if
// all terminals have the same airtime. It is NaN if the lengths differ.
func NormalisedJain(x, alone []float64) float64 {
	y, ok := over(x, alone)
	if !ok {
		return math.NaN()
	}
	return Jain(y)
}

// PrintedForm is the improved fairness index as printed in Matsuno et al. 2021: (sum y)^2 / (n sum
// y). Its denominator lacks the square, so it is the mean of y and does not measure how evenly the
// rates are shared. It is NaN if the lengths differ or all rates are zero.
func PrintedForm(x, alone []float64) float64 {
	y, ok := over(x, alone)
	if !ok {
		return math.NaN()
	}
	sum := floats.Sum(y)
	return sum * sum / (float64(len(y)) * sum)
}

// Airtime is the part of the airtime that the rates use, sum(x/M). It is at most 1 if M are the
// rates that the terminals reach alone. It is NaN if the lengths differ.
func Airtime(x, alone []float64) float64 {
	y, ok := over(x, alone)
	if !ok {
		return math.NaN()
	}
	return floats.Sum(y)
}

// over divides rates by the terminals' own maxima.
func over(x, alone []float64) ([]float64, bool) {
	if len(x) != len(alone) || len(x) == 0 {
		return nil, false
	}
	return floats.DivTo(make([]float64, len(x)), x, alone), true
}
