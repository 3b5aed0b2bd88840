package fairness

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

const tolerance = 1e-9

func near(a, b float64) bool { return math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b)) }

// ratesOf draws n positive rates that depend on the seed alone.
func ratesOf(seed uint64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([]float64, n)
	for i := range x {
		x[i] = 0.1 + 100*rng.Float64()
	}
	return x
}

// The figures are those of a table in the project's design: rates of four terminals that alone
// reach 400, 500, 50, 50.
func TestIndicesOfFairnessHaveKnownValues(t *testing.T) {
	alone := []float64{400, 500, 50, 50}
	for _, c := range []struct {
		name                      string
		x                         []float64
		jain, normalised, printed float64
	}{
		{"equal rates", []float64{22.5, 22.5, 22.5, 22.5}, 1, 0.61, (22.5/400 + 22.5/500 + 0.45 + 0.45) / 4},
		{"equal airtime", []float64{100, 125, 12.5, 12.5}, 0.602, 1, 0.25},
		{"between", []float64{79, 90, 15.6, 15.6}, 0.676, 0.943, (79.0/400 + 90.0/500 + 2*15.6/50) / 4},
		{"one has all", []float64{400, 0, 0, 0}, 0.25, 0.25, 0.25},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Jain(c.x); math.Abs(got-c.jain) > 0.0015 {
				t.Errorf("Jain's index is %.4f, expected %.3f", got, c.jain)
			}
			if got := NormalisedJain(c.x, alone); math.Abs(got-c.normalised) > 0.0015 {
				t.Errorf("the normalised index is %.4f, expected %.3f", got, c.normalised)
			}
			if got := PrintedForm(c.x, alone); !near(got, c.printed) {
				t.Errorf("the printed index is %.4f, expected %.4f", got, c.printed)
			}
		})
	}
	if !math.IsNaN(NormalisedJain([]float64{1, 2}, alone)) || !math.IsNaN(PrintedForm(nil, nil)) ||
		!math.IsNaN(Jain(nil)) {
		t.Error("an index of lists that do not match, or of nothing, is a number")
	}
}

func TestIndicesDoNotDependOnUnitOrOrder(t *testing.T) {
	for seed := range uint64(200) {
		n := 1 + int(seed%9)
		x := ratesOf(seed, n)
		alone := ratesOf(seed+1000, n)
		j := Jain(x)
		if j < 1/float64(n)-tolerance || j > 1+tolerance {
			t.Fatalf("Jain's index of %v is %g, outside of 1/n to 1", x, j)
		}
		scaled := slices.Clone(x)
		reversed := slices.Clone(x)
		maxima := slices.Clone(alone)
		for i := range scaled {
			scaled[i] *= 1e6
		}
		slices.Reverse(reversed)
		slices.Reverse(maxima)
		if !near(Jain(scaled), j) || !near(Jain(reversed), j) {
			t.Fatalf("Jain's index of %v depends on unit or order", x)
		}
		if !near(NormalisedJain(reversed, maxima), NormalisedJain(x, alone)) {
			t.Fatalf("the normalised index of %v over %v depends on the order of terminals", x, alone)
		}
		if !near(NormalisedJain(x, x), 1) || !near(PrintedForm(x, x), 1) {
			t.Fatalf("terminals that all reach their maximum %v do not have index 1", x)
		}
		// The printed form follows how much of their maxima the terminals get, the squared form
		// does not.
		if !near(PrintedForm(scaled, alone), 1e6*PrintedForm(x, alone)) ||
			!near(NormalisedJain(scaled, alone), NormalisedJain(x, alone)) {
			t.Fatalf("the two improved indices of %v scale otherwise than their formulas", x)
		}
	}
}
