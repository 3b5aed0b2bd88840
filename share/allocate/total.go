package allocate

import (
	"cmp"
	"math"
	"slices"
)

// ties says who goes first of those that bring as much for the same price.
type ties int

const (
	together ties = iota // all at one level
	lessAir              // who needs less airtime: what an infinitely small rise of its price leads to
	lessWire             // who needs less of the wire, and so more airtime: the same for the wire's price
)

// totalFirst finds an optimum for alpha = 0, a linear program, and its prices. At given prices the optimum is greedy: who
// brings most for the price of what it uses goes first. Where both limits bind, the prices are those at which two kinds
// of terminals bring the same; just below and just above them the one kind or the other goes first, both orders are optimal,
// and the mix of both that uses up both limits is the optimum.
//
// Optima are many where terminals bring the same: they are then put at one level as far as the limits allow, so that
// like terminals get the same.
func (s *Solver) totalFirst(l Limits) prices {
	air, wire := prices{airtime: 1}, prices{wire: 1}
	price := s.greedy(air, l, together)
	if _, total := s.used(); total <= l.Wire {
		return price
	}
	s.keep()
	s.greedy(air, l, lessWire)
	if _, total := s.used(); total <= l.Wire {
		s.mix(s.total, l.Wire)
		return price
	}
	price = s.greedy(wire, l, together)
	if air, _ := s.used(); air <= l.Airtime {
		return price
	}
	s.keep()
	s.greedy(wire, l, lessAir)
	if air, _ := s.used(); air <= l.Airtime {
		s.mix(s.airtime, l.Airtime)
		return price
	}
	low, high := s.ratios()
	for {
		mid := math.Sqrt(low) * math.Sqrt(high)
		if mid <= low || mid >= high {
			break
		}
		s.greedy(prices{1, mid}, l, together)
		if s.lean(l) > 0 {
			low = mid
		} else {
			high = mid
		}
	}
	s.greedy(prices{1, low}, l, together)
	s.keep()
	price = s.greedy(prices{1, high}, l, together)
	// What rounding leaves of the one limit is little of it where the other has the greater part of the price.
	if high*l.Wire > l.Airtime {
		s.mix(s.airtime, l.Airtime)
	} else {
		s.mix(s.total, l.Wire)
	}
	return price
}

func (s *Solver) airtime() float64 { air, _ := s.used(); return air }

func (s *Solver) total() float64 { _, total := s.used(); return total }

// greedy serves terminals by what they bring for their price until the budget is used up. It returns the prices in units of
// what the last one brings.
func (s *Solver) greedy(p prices, l Limits, t ties) prices {
	s.setCosts(p)
	value := s.exponent
	for i := range s.order {
		s.order[i], s.share[i], s.factor[i] = i, 0, 1
		value[i] = s.weight[i] / s.cost[i]
	}
	compare := func(i, j int) int {
		by := cmp.Compare(value[j], value[i])
		if by == 0 && t == lessAir {
			by = cmp.Compare(s.inverse[i], s.inverse[j])
		} else if by == 0 && t == lessWire {
			by = cmp.Compare(s.inverse[j], s.inverse[i])
		}
		return by
	}
	slices.SortFunc(s.order, compare)
	budget := p.budget(l)
	for from := 0; from < len(s.order); {
		to := from + 1
		for to < len(s.order) && compare(s.order[from], s.order[to]) == 0 {
			to++
		}
		served := s.all[:copy(s.all, s.order[from:to])]
		if level, _ := s.pour(served, budget); !math.IsInf(level, 1) {
			return p.times(value[s.order[from]])
		}
		for _, i := range s.order[from:to] {
			budget -= s.cost[i] * s.demand[i]
		}
		budget = max(budget, 0)
		from = to
	}
	return prices{}
}

// keep puts the shares aside.
func (s *Solver) keep() { copy(s.another, s.share) }

// mix joins the shares with those put aside, so that what they use is the limit. The ones use more, the others less.
func (s *Solver) mix(use func() float64, limit float64) {
	one := use()
	s.share, s.another = s.another, s.share
	other := use()
	part := 0.0 // of those that are in share now
	if other != one {
		part = min(max((limit-one)/(other-one), 0), 1)
	}
	for i := range s.share {
		s.share[i] = part*s.share[i] + (1-part)*s.another[i]
	}
}
