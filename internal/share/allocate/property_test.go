package allocate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLimitsHoldAndNobodyCanHaveMoreForNothing(t *testing.T) {
	problems(t, func(t *testing.T, _ uint64, p problem, r Result) {
		air := 0.0
		total := 0.0
		met := true
		for i, x := range r.Shares {
			if !(x >= 0) || x > p.terminals[i].Demand {
				t.Errorf("terminal %d has %g of a demand of %g", i, x, p.terminals[i].Demand)
			}
			met = met && x >= p.terminals[i].Demand*(1-1e-9)
			air += x / p.terminals[i].Max
			total += x
		}
		const rounding = 1e-12
		if air > p.limits.Airtime*(1+rounding) || total > p.limits.Wire*(1+rounding) {
			t.Errorf("airtime %g and total %g", air, total)
		}
		if math.Abs(air-r.Airtime) > rounding || math.Abs(total-r.Total) > rounding*total {
			t.Errorf("airtime %g and total %g are said to be %g and %g", air, total, r.Airtime, r.Total)
		}
		// Each terminal uses both limits: with something left of both, one that wants more could
		// have it.
		if !met && air < p.limits.Airtime*(1-1e-9) && total < p.limits.Wire*(1-1e-9) {
			t.Error("a terminal could have more without another having less")
		}
		if met != (r.Binds == Demand) {
			t.Errorf("limited by %s, and all demands met: %t", r.Binds, met)
		}
	})
}

// The problem is convex, so shares with prices that meet these conditions are its optimum.
func TestPricesProveTheOptimum(t *testing.T) {
	problems(t, func(t *testing.T, _ uint64, p problem, r Result) {
		const close = 1e-6
		if r.Lambda < 0 || r.Mu < 0 {
			t.Error("a price is negative")
		}
		if r.Lambda > 0 && r.Airtime < p.limits.Airtime*(1-close) || r.Mu > 0 && r.Total < p.limits.Wire*(1-close) {
			t.Error("what is left has a price")
		}
		for i, x := range r.Shares {
			terminal := p.terminals[i]
			price := r.Lambda/terminal.Max + r.Mu
			full := x >= terminal.Demand*(1-1e-12)
			switch {
			case r.Binds == Demand && full:
			case math.IsInf(p.alpha, 1):
				if level := slices.Max(r.Shares); !full && x < level*(1-close) {
					t.Errorf("terminal %d has %g where another has %g", i, x, level)
				}
			case p.alpha == 0:
				value := weightOf(terminal) / price
				if !full && value > 1+close || x > p.limits.Airtime*terminal.Max*close && value < 1-close {
					t.Errorf("terminal %d has %g and brings %g of its price", i, x, value)
				}
			default:
				// ln of marginal utility over price
				excess := math.Log(weightOf(terminal)) - p.alpha*math.Log(x) - math.Log(price)
				if x == 0 && terminal.Demand == 0 {
					continue
				}
				if !full && excess > close*max(1, p.alpha) || excess < -close*max(1, p.alpha) {
					t.Errorf("terminal %d: marginal utility is %g of its price", i, math.Exp(excess))
				}
			}
		}
	})
}

func TestOrderOfTerminalsDoesNotMatter(t *testing.T) {
	problems(t, func(t *testing.T, seed uint64, p problem, r Result) {
		order := rand.New(rand.NewPCG(seed, 12)).Perm(len(p.terminals))
		shuffled := make([]Terminal, len(order))
		for to, from := range order {
			shuffled[to] = p.terminals[from]
		}
		other := solve(t, p.alpha, p.limits, shuffled)
		for to, from := range order {
			if math.Abs(other.Shares[to]-r.Shares[from]) > 1e-9*r.Total {
				t.Errorf("terminal %d has %g, and %g in another order", from, r.Shares[from], other.Shares[to])
			}
		}
	})
}

func TestUnitsDoNotMatter(t *testing.T) {
	problems(t, func(t *testing.T, _ uint64, p problem, r Result) {
		const unit = 1e6
		other := problem{p.alpha, p.limits, slices.Clone(p.terminals)}
		other.limits.Wire *= unit
		for i := range other.terminals {
			other.terminals[i].Max *= unit
			other.terminals[i].Demand *= unit
			other.terminals[i].Weight = 7 * weightOf(p.terminals[i])
		}
		scaled := solve(t, other.alpha, other.limits, other.terminals)
		for i, x := range r.Shares {
			if math.Abs(scaled.Shares[i]-x*unit) > 1e-9*scaled.Total {
				t.Errorf("terminal %d has %g, and in another unit of rates and weights %g", i, x, scaled.Shares[i]/unit)
			}
		}
	})
}

// A weight of two is two terminals, for proportional fairness.
func TestWeightsCountTerminals(t *testing.T) {
	problems(t, func(t *testing.T, _ uint64, p problem, _ Result) {
		merged := slices.Clone(p.terminals)
		twins := slices.Clone(p.terminals)
		half := p.terminals[0]
		half.Demand /= 2
		half.Weight = weightOf(half)
		merged[0].Weight = 2 * half.Weight
		twins[0] = half
		twins = append(twins, half)
		one := solve(t, Proportional, p.limits, merged)
		two := solve(t, Proportional, p.limits, twins)
		if both := two.Shares[0] + two.Shares[len(twins)-1]; math.Abs(one.Shares[0]-both) > 1e-9*one.Total {
			t.Errorf("with a weight of two it has %g, as two it has %g", one.Shares[0], both)
		}
	})
}

// Without the satisfied terminals, and with limits reduced by their use, the others get the same.
func TestDemandsAreTakenOffTheLimits(t *testing.T) {
	problems(t, func(t *testing.T, _ uint64, p problem, r Result) {
		rest := p.limits
		var others []Terminal
		var want []float64
		for i, x := range r.Shares {
			if x >= p.terminals[i].Demand*(1-1e-12) {
				rest.Airtime -= x / p.terminals[i].Max
				rest.Wire -= x
				continue
			}
			free := p.terminals[i]
			free.Demand = Unlimited
			others = append(others, free)
			want = append(want, x)
		}
		// Without a demand, an optimum of the total that is not the only one may be another.
		if len(others) == 0 || p.alpha == 0 || rest.Airtime < 1e-3*p.limits.Airtime || rest.Wire < 1e-3*p.limits.Wire {
			return
		}
		for i, x := range solve(t, p.alpha, rest, others).Shares {
			if math.Abs(x-want[i]) > 1e-9*r.Total {
				t.Errorf("a terminal has %g, and %g without those who have enough", want[i], x)
			}
		}
	})
}
