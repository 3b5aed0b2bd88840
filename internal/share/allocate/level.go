package allocate

import "math"

// prices of airtime and wire.
type prices struct{ airtime, wire float64 }

// times scales prices.
func (p prices) times(by float64) prices {
	if math.IsInf(by, 1) {
		by = math.MaxFloat64
	}
	return prices{p.airtime * by, p.wire * by}
}

// fill solves the problem with one joint limit for alpha > 0: x = min(demand, t (w/cost)^(1/alpha))
// with the greatest t within the budget. It returns the prices in units of utility.
func (s *Solver) fill(p prices, l Limits) prices {
	s.setCosts(p)
	s.reference = 0
	switch {
	case math.IsInf(s.alpha, 1):
		for i := range s.factor {
			s.factor[i] = 1
		}
	case s.alpha == 1:
		for i, c := range s.cost {
			s.factor[i] = s.weight[i] / c
		}
	case s.alpha == 2:
		for i, c := range s.cost {
			s.factor[i] = math.Sqrt(s.weight[i] / c)
		}
	default:
		for i, c := range s.cost {
			s.exponent[i] = math.Log(s.weight[i]/c) / s.alpha
		}
		s.normaliseFactors(s.everyone())
	}
	t, slope := s.raiseLevel(s.everyone(), p.budget(l))
	switch {
	case math.IsInf(t, 1):
		return prices{}
	case math.IsInf(s.alpha, 1):
		return p.times(1 / slope)
	case s.alpha == 1:
		return p.times(1 / t)
	case s.alpha == 2:
		return p.times(1 / t / t)
	}
	return p.times(math.Exp(-s.alpha * (math.Log(t) - s.reference)))
}

// setCosts computes the cost of one unit of rate for each terminal.
func (s *Solver) setCosts(p prices) {
	for i, v := range s.inverse {
		s.cost[i] = p.airtime*v + p.wire
	}
}

// budget returns the value of both limits at these prices. A limit with price 0 counts 0, even if
// it is infinite.
func (p prices) budget(l Limits) float64 {
	b := p.airtime * l.Airtime
	if p.wire > 0 {
		b += p.wire * l.Wire
	}
	return b
}

// everyone lists all terminals. raiseLevel changes the list.
func (s *Solver) everyone() []int {
	for i := range s.all {
		s.all[i] = i
	}
	return s.all
}

// normaliseFactors scales the factors of some terminals so that the greatest factor is 1.
func (s *Solver) normaliseFactors(indices []int) {
	s.reference = math.Inf(-1)
	for _, i := range indices {
		s.reference = max(s.reference, s.exponent[i])
	}
	for _, i := range indices {
		s.factor[i] = math.Exp(s.exponent[i] - s.reference)
	}
}

// faint is a factor that would soon be lost in rounding to zero.
const faint = 1e-150

// raiseLevel raises the level t of some terminals, x = min(demand, t factor), until the sum of cost
// times x is the budget. It returns the level, which is infinite if all demands are met first, and
// the sum of cost times factor of the terminals below their demand.
//
// The spent sum is a concave, piecewise linear function of t. Each round is a step of Newton's
// method from the left. A step never passes the true level, so a terminal that reaches its demand
// stays there, and the rounds end when no more terminals reach it.
func (s *Solver) raiseLevel(indices []int, budget float64) (t, slope float64) {
	for len(indices) > 0 {
		slope = 0
		most := 0.0
		for _, i := range indices {
			slope += s.cost[i] * s.factor[i]
			most = max(most, s.factor[i])
		}
		if most < faint && s.alpha > 0 && s.alpha != 1 && s.alpha != 2 && !math.IsInf(s.alpha, 1) {
			s.normaliseFactors(indices)
			t = 0
			continue
		}
		t = max(t, budget/slope)
		left := indices[:0]
		for _, i := range indices {
			if t*s.factor[i] < s.demand[i] {
				left = append(left, i)
				continue
			}
			s.share[i] = s.demand[i]
			budget -= s.cost[i] * s.demand[i]
		}
		if len(left) == len(indices) {
			for _, i := range indices {
				s.share[i] = t * s.factor[i]
			}
			return t, slope
		}
		indices = left
	}
	return math.Inf(1), 0
}
