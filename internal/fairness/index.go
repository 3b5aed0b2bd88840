package fairness

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Jain is Jain's fairness index of rates, (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when
// one has all (R. Jain, D. Chiu, W. Hawe, DEC-TR-301, 1984). It is NaN without rates and when all
// are zero.
func Jain(x []float64) float64 {
	sum, squares := floats.Sum(x), floats.Dot(x, x)
	return sum * sum / (float64(len(x)) * squares)
}

// NormalisedJain is Jain's index of the rates over what each terminal reaches alone, y = x/M. It is
// the improved fairness index of P4 in the form that its text describes: 1 when all have the same
// airtime. NaN where the lengths differ.
func NormalisedJain(x, alone []float64) float64 {
	y, ok := over(x, alone)
	if !ok {
		return math.NaN()
	}
	return Jain(y)
}

// PrintedForm is P4's improved fairness index as its formula is printed, with n sum y below the
// line, which lacks the square: (sum y)^2 / (n sum y). That is the mean of y, which says how much
// of what they reach alone the terminals get, and nothing of how evenly. NaN where the lengths
// differ and where all rates are zero.
func PrintedForm(x, alone []float64) float64 {
	y, ok := over(x, alone)
	if !ok {
		return math.NaN()
	}
	sum := floats.Sum(y)
	return sum * sum / (float64(len(y)) * sum)
}

// Airtime is what rates use of the airtime, sum(x/M): at most 1 when M is what the terminals reach
// alone. NaN where the lengths differ.
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
