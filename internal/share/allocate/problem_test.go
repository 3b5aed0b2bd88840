package allocate

import (
	"math"
	"math/rand/v2"
	"testing"
)

// problem is one to try properties on.
type problem struct {
	alpha     float64
	limits    Limits
	terminals []Terminal
}

// drawn draws a problem that depends on the seed alone: few or many terminals, rates of four orders
// of magnitude, demands and weights or none, and limits such that each of them and both come to
// bind.
func drawn(seed uint64) problem {
	rng := rand.New(rand.NewPCG(seed, 11))
	n := 1 + rng.IntN(12)
	if rng.IntN(10) == 0 {
		n = 200
	}
	alphas := []float64{0, 0.1, 0.5, 1, 1, 1, 2, 5, 50, FairnessFirst}
	p := problem{alpha: alphas[rng.IntN(len(alphas))], terminals: make([]Terminal, n)}
	demands := rng.IntN(2) == 0
	weights := rng.IntN(2) == 0
	alike := rng.IntN(4) == 0
	harmonic := 0.0
	most := 0.0
	for i := range p.terminals {
		t := Terminal{Max: math.Pow(10, 3*rng.Float64()), Demand: Unlimited}
		if alike {
			t.Max = []float64{1, 6.5, 433}[rng.IntN(3)]
		}
		if weights {
			t.Weight = math.Pow(10, 2*rng.Float64()-1)
		}
		if demands {
			switch rng.IntN(4) {
			case 0:
				t.Demand = 0
			case 1, 2:
				t.Demand = t.Max / float64(n) * math.Pow(10, 2*rng.Float64()-1)
			}
		}
		p.terminals[i] = t
		harmonic += 1 / t.Max
		most = max(most, t.Max)
	}
	p.limits = Limits{Airtime: 1, Wire: Unlimited}
	if rng.IntN(3) == 0 {
		p.limits.Airtime = 0.1 + 0.9*rng.Float64()
	}
	// Equal rates get the harmonic mean of the maxima in all; no rule gets more than the greatest
	// of them.
	if rng.IntN(5) > 0 {
		low := p.limits.Airtime * float64(n) / harmonic
		p.limits.Wire = low / 2 * math.Pow(3*most/low, rng.Float64())
	}
	return p
}

// problems runs a test on many problems.
func problems(t *testing.T, test func(t *testing.T, seed uint64, p problem, r Result)) {
	t.Helper()
	seen := map[Limit]int{}
	for seed := range uint64(3000) {
		p := drawn(seed)
		r := solve(t, p.alpha, p.limits, p.terminals)
		seen[r.Binds]++
		test(t, seed, p, r)
		if t.Failed() {
			t.Fatalf("problem %d: %+v\n%+v", seed, p, r)
		}
	}
	for l := Demand; l <= Both; l++ {
		if seen[l] < 30 {
			t.Errorf("only %d problems are limited by %s", seen[l], l)
		}
	}
}

func weightOf(t Terminal) float64 {
	if t.Weight == 0 {
		return 1
	}
	return t.Weight
}
