package allocate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The objective is strictly concave for alpha > 0, so the optimum moves with the square root of a
// change at most, and with the change itself where the limits are not nearly the same for all. For
// alpha = 0 the best total does.
func TestSmallChangesHaveSmallEffects(t *testing.T) {
	problems(t, func(t *testing.T, seed uint64, p problem, r Result) {
		const change = 1e-11
		rng := rand.New(rand.NewPCG(seed, 13))
		about := func(v float64) float64 { return v * (1 + change*(2*rng.Float64()-1)) }
		other := problem{p.alpha, Limits{about(p.limits.Airtime), about(p.limits.Wire)}, slices.Clone(p.terminals)}
		for i, was := range p.terminals {
			other.terminals[i] = Terminal{Max: about(was.Max), Weight: about(weightOf(was)), Demand: about(was.Demand)}
		}
		moved := solve(t, other.alpha, other.limits, other.terminals)
		value := 0.0
		new := 0.0
		for i, x := range r.Shares {
			value += weightOf(p.terminals[i]) * x
			new += weightOf(p.terminals[i]) * moved.Shares[i]
			if p.alpha > 0 && math.Abs(moved.Shares[i]-x) > 1e-5*r.Total {
				t.Errorf("terminal %d had %g and has %g", i, x, moved.Shares[i])
			}
		}
		if math.Abs(new-value) > 1e-5*value {
			t.Errorf("the value went from %g to %g", value, new)
		}
	})
}

// From a wire that hardly lets anything through to one that is not felt, in small steps, through
// the places where airtime begins to bind and the wire ceases to.
func TestNothingJumpsWhereALimitBeginsToBind(t *testing.T) {
	for _, alpha := range []float64{0.5, 1, 3, FairnessFirst} {
		terminals := designed()
		terminals[0].Demand = 60
		var before Result
		binds := map[Limit]bool{}
		const step = 0.1
		for c := 1.0; c < 520; c += step {
			r := solve(t, alpha, Limits{Wire: c}, terminals)
			binds[r.Binds] = true
			for i := range before.Shares {
				if math.Abs(r.Shares[i]-before.Shares[i]) > 5*step {
					t.Fatalf("alpha %g: from C = %g to %g, %v becomes %v", alpha, c-step, c, before.Shares, r.Shares)
				}
			}
			before = r
		}
		if !binds[Wire] || !binds[Airtime] || !math.IsInf(alpha, 1) && !binds[Both] {
			t.Errorf("alpha %g: the wire was limited by %v", alpha, binds)
		}
	}
}

func TestAlphaLeadsFromTotalToFairness(t *testing.T) {
	least := func(x []float64) float64 { return slices.Min(x) }
	for _, wire := range []float64{Unlimited, 200, 100} {
		limits := Limits{Wire: wire}
		first := solve(t, TotalFirst, limits, designed())
		last := solve(t, FairnessFirst, limits, designed())
		before := first
		for _, alpha := range []float64{0.001, 0.01, 0.1, 0.5, 0.9, 1, 1.1, 2, 5, 20, 100, 1000, 1e5} {
			r := solve(t, alpha, limits, designed())
			if r.Total > before.Total*(1+1e-9) || least(r.Shares) < least(before.Shares)*(1-1e-9) && alpha > 0.001 {
				t.Errorf("C = %g: alpha %g gives %v after %v", wire, alpha, r.Shares, before.Shares)
			}
			if alpha == 0.001 && math.Abs(r.Total-first.Total) > 1e-3*first.Total {
				t.Errorf("C = %g: alpha %g gives a total of %g, alpha 0 %g", wire, alpha, r.Total, first.Total)
			}
			before = r
		}
		for i, x := range before.Shares {
			if math.Abs(x-last.Shares[i]) > 1e-3*x {
				t.Errorf("C = %g: a great alpha gives %v, max-min %v", wire, before.Shares, last.Shares)
			}
		}
	}
}
