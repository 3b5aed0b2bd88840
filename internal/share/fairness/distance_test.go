package fairness

import (
	"math"
	"testing"

	"airtide/internal/share/allocate"
)

func TestDistanceHasKnownValues(t *testing.T) {
	for _, c := range []struct {
		name                string
		alpha               float64
		x, optimum, weights []float64
		want                float64
	}{
		{"the optimum itself", 1, []float64{3, 4}, []float64{3, 4}, nil, 0},
		{"half of everything", 1, []float64{3, 4}, []float64{6, 8}, nil, math.Ln2},
		{"one has half", 1, []float64{3, 4}, []float64{6, 4}, nil, math.Ln2 / 2},
		{"one has half, and weighs three", 1, []float64{3, 4}, []float64{6, 4}, []float64{3, 1}, math.Ln2 * 3 / 4},
		{"one has nothing", 1, []float64{0, 4}, []float64{6, 4}, nil, math.Inf(1)},
		{"one has nothing and should", 1, []float64{0, 2}, []float64{0, 4}, nil, math.Ln2},
		{"more than the optimum is beyond the limits", 1, []float64{6, 8}, []float64{3, 4}, nil, -math.Ln2},
		{"alpha 0 sees the total", 0, []float64{8, 0}, []float64{8, 8}, nil, math.Ln2},
		{"alpha 2 sees the harmonic mean", 2, []float64{1, 3}, []float64{3, 3}, nil, math.Log(3 / 1.5)},
		{"alpha 2, one has nothing", 2, []float64{0, 3}, []float64{3, 3}, nil, math.Inf(1)},
		{"max-min sees the least", math.Inf(1), []float64{2, 50}, []float64{4, 4}, nil, math.Ln2},
		{"a great alpha is nearly that", 2000, []float64{2, 50}, []float64{4, 4}, nil, math.Ln2 - math.Ln2/1999},
		{"half, and nobody has anything", 0.5, []float64{0, 0}, []float64{4, 4}, nil, math.Inf(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Distance(c.alpha, c.x, c.optimum, c.weights)
			if got != c.want && !(math.Abs(got-c.want) < 1e-9) {
				t.Errorf("%g, want %g", got, c.want)
			}
		})
	}
	if !math.IsNaN(Distance(1, []float64{1}, []float64{1, 2}, nil)) ||
		!math.IsNaN(Distance(1, []float64{1}, []float64{1}, []float64{1, 2})) ||
		!math.IsNaN(Distance(1, nil, nil, nil)) {
		t.Error("lists that do not match, or nothing, have a distance")
	}
}

// Whatever is within the limits is no nearer than the optimum.
func TestNothingWithinTheLimitsIsBetterThanTheOptimum(t *testing.T) {
	for seed := range uint64(2000) {
		n := 1 + int(seed%8)
		c := Case{
			Rates: ratesOf(seed, n), Max: ratesOf(seed+5000, n), Weights: ratesOf(seed+9000, n),
			Wire: 10 + float64(seed%300),
		}
		c.Alpha = []float64{0, 0.5, 1, 2, 10, math.Inf(1)}[seed%6]
		over := max(Airtime(c.Rates, c.Max), 0)
		total := 0.0
		for _, x := range c.Rates {
			total += x
		}
		over = max(over, total/c.Wire)
		for i := range c.Rates {
			c.Rates[i] /= over
		}
		in, err := Of(c)
		if err != nil {
			t.Fatal(err)
		}
		// Total first weighs rates, the measure weighs them alike: the same optimum.
		if in.Distance < -1e-9 {
			t.Fatalf("%+v is better than its optimum by %g", c, -in.Distance)
		}
		c.Rates = in.Optimum.Shares
		if own, err := Of(c); err != nil || math.Abs(float64(own.Distance)) > 1e-9 {
			t.Fatalf("the optimum of %+v is at a distance of %g from itself, %v", c, own.Distance, err)
		}
		if in.Optimum.LimitedBy == allocate.Demand {
			t.Fatalf("unlimited demands limit %+v", c)
		}
	}
}
