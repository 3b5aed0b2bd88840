package judge

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The interval of a difference holds the true one in some 95 % of cases.
func TestDifferenceCoversTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sample := func(n int, mean float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = mean + rng.NormFloat64()
		}
		return x
	}
	for _, n := range []int{3, 5, 10} {
		const trials = 400
		covered := 0
		for i := range trials {
			d := Difference(sample(n, 7), sample(n, 5), uint64(i))
			if d.Interval.Low <= 2 && 2 <= d.Interval.High {
				covered++
			}
		}
		if share := float64(covered) / trials; share < 0.92 {
			t.Errorf("of %d runs each: %.3f of the intervals hold the truth, want 0.95", n, share)
		}
	}
}

func TestDifferenceOfSingleRunsHasNoInterval(t *testing.T) {
	d := Difference([]float64{3}, []float64{1, 2}, 1)
	if d.Value != 1.5 || d.Runs != 1 || !math.IsNaN(d.Interval.Low) {
		t.Errorf("got %+v", d)
	}
	d = Difference(nil, []float64{1, 2}, 1)
	if !math.IsNaN(d.Value) || d.Runs != 0 {
		t.Errorf("got %+v", d)
	}
}
