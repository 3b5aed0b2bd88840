package allocate

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"
)

// goldenSection finds the greatest value of a concave function between two arguments.
func goldenSection(from, to float64, f func(float64) float64) float64 {
	const ratio = 0.6180339887498949
	a := to - ratio*(to-from)
	b := from + ratio*(to-from)
	fa := f(a)
	fb := f(b)
	for range 60 {
		if fa < fb {
			from = a
			a = b
			fa = fb
			b = from + ratio*(to-from)
			fb = f(b)
		} else {
			to = b
			b = a
			fb = fa
			a = to - ratio*(to-from)
			fa = f(a)
		}
	}
	return max(fa, fb)
}

// best searches the utility of up to three terminals by trying, without any price.
func best(p problem, air, wire float64) float64 {
	t := p.terminals[0]
	most := max(0, min(t.Demand, air*t.Max, wire))
	utility := func(x float64) float64 {
		switch {
		case p.alpha == 1:
			return weightOf(t) * math.Log(x)
		case math.IsInf(p.alpha, 1):
			panic("max-min is no sum")
		}
		return weightOf(t) * math.Pow(x, 1-p.alpha) / (1 - p.alpha)
	}
	if len(p.terminals) == 1 {
		return utility(most)
	}
	rest := p
	rest.terminals = p.terminals[1:]
	return goldenSection(0, most, func(x float64) float64 { return utility(x) + best(rest, air-x/t.Max, wire-x) })
}

func TestTryingFindsNothingBetter(t *testing.T) {
	tried := 0
	for seed := range uint64(4000) {
		p := drawn(seed)
		if math.IsInf(p.alpha, 1) || p.alpha == 50 || len(p.terminals) > 3 || slices.ContainsFunc(
			p.terminals, func(t Terminal) bool { return t.Demand == 0 },
		) {
			continue
		}
		if len(p.terminals) == 3 && seed%4 != 0 {
			continue
		}
		tried++
		r := solve(t, p.alpha, p.limits, p.terminals)
		reached := 0.0
		for i, x := range r.Shares {
			one := problem{alpha: p.alpha, terminals: []Terminal{{Max: 1, Weight: p.terminals[i].Weight, Demand: x}}}
			reached += best(one, math.Inf(1), math.Inf(1))
		}
		found := best(p, p.limits.Airtime, p.limits.Wire)
		if found > reached+1e-9*math.Abs(reached) || found < reached-1e-5*math.Abs(reached) {
			t.Fatalf("problem %d %+v: utility %.12g of %v, by trying %.12g", seed, p, reached, r.Shares, found)
		}
	}
	if tried < 100 {
		t.Errorf("only %d problems were tried", tried)
	}
}

// The simplex method knows nothing of prices and orders.
func TestTotalFirstIsTheLinearProgramsOptimum(t *testing.T) {
	for seed := range uint64(1500) {
		p := drawn(seed)
		n := len(p.terminals)
		if n > 12 {
			continue
		}
		// Standard form: sum(x m/M) + s = A, sum(x)/C + s = 1, x + s = demand, everything in units
		// of the greatest maximum.
		unit := 0.0
		for _, t := range p.terminals {
			unit = max(unit, t.Max)
		}
		rows := [][]float64{}
		limits := []float64{}
		row := func(limit float64, of func(i int) float64) {
			if math.IsInf(limit, 1) {
				return
			}
			r := make([]float64, n)
			for i := range r {
				r[i] = of(i)
			}
			rows = append(rows, r)
			limits = append(limits, limit)
		}
		row(p.limits.Airtime, func(i int) float64 { return unit / p.terminals[i].Max })
		row(p.limits.Wire/unit, func(int) float64 { return 1 })
		for i := range n {
			row(p.terminals[i].Demand/unit, func(j int) float64 {
				if i == j {
					return 1
				}
				return 0
			})
		}
		a := mat.NewDense(len(rows), n+len(rows), nil)
		costs := make([]float64, n+len(rows))
		for i, r := range rows {
			for j, v := range r {
				a.Set(i, j, v)
			}
			a.Set(i, n+i, 1)
		}
		for i, t := range p.terminals {
			costs[i] = -weightOf(t)
		}
		value, _, err := lp.Simplex(costs, a, limits, 1e-12, nil)
		if err != nil {
			continue // it gives up on some that are degenerate
		}
		reached := 0.0
		for i, x := range solve(t, TotalFirst, p.limits, p.terminals).Shares {
			reached += weightOf(p.terminals[i]) * x / unit
		}
		if math.Abs(reached+value) > 1e-9*reached {
			t.Fatalf("problem %d %+v: a weighted total of %.12g, by the simplex method %.12g", seed, p, reached, -value)
		}
	}
}
