package control

import (
	"math"
	"testing"

	"airtide/internal/share/allocate"
)

// The shares of the parameter that an index chooses have that index, and a greater total than equal
// airtime.
func TestAnIndexChoosesTheGreatestTotal(t *testing.T) {
	all := []allocate.Terminal{
		{Max: 290e6, Demand: allocate.Unlimited},
		{Max: 555e6, Demand: allocate.Unlimited},
		{Max: 44.4e6, Demand: allocate.Unlimited},
		{Max: 44.4e6, Demand: allocate.Unlimited},
		{Max: 1e6}, // it carries nothing
	}
	limits := allocate.Limits{Airtime: 0.8, Wire: allocate.Unlimited}
	before := 0.0
	for _, index := range []float64{1, 0.995, 0.99, 0.98, 0.95} {
		alpha := alphaOfIndex(index, all)
		r, err := allocate.Solve(alpha, limits, all)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		squares := 0.0
		for i, x := range r.Shares[:4] {
			part := x / all[i].Max
			sum += part
			squares += part * part
		}
		if got := sum * sum / (4 * squares); math.Abs(got-index) > 1e-4 {
			t.Errorf("an alpha of %g for %g gives an index of %g", alpha, index, got)
		}
		if r.Total <= before {
			t.Errorf("an index of %g carries %g, a greater one %g", index, r.Total, before)
		}
		before = r.Total
	}
	// A claim of 100 Gbit/s among many like terminals gains no more than greatestPart.
	many := []allocate.Terminal{{Max: 100e9, Demand: allocate.Unlimited}}
	for range 200 {
		many = append(many, allocate.Terminal{Max: 300e6, Demand: allocate.Unlimited})
	}
	r, err := allocate.Solve(alphaOfIndex(0.99, many), limits, many)
	if err != nil {
		t.Fatal(err)
	}
	if gain := r.Shares[0] / many[0].Max / (r.Shares[1] / many[1].Max); gain < 1.3 || gain > 1.01*greatestPart {
		t.Errorf("a claim of 100 Gbit/s has %.2f times the airtime of the others", gain)
	}
	if got := alphaOfIndex(0.99, all[2:4]); got != leastIndexAlpha {
		t.Errorf("like terminals have an alpha of %g", got)
	}
	if got := alphaOfIndex(0.99, nil); got != leastIndexAlpha {
		t.Errorf("no terminals have an alpha of %g", got)
	}
}
