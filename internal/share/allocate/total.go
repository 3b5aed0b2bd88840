package allocate

import (
	"cmp"
	"math"
	"slices"
)

// ties is the order of terminals with the same value for the same price.
type ties int

const (
	together ties = iota // all at one level
	lessAir              // terminals that need less airtime, as after an infinitely small rise of its price
	lessWire             // terminals that need less of the wire and so more airtime, as after one of the wire's price
)

// totalFirst solves the linear program of alpha = 0 and returns its prices. At given prices the
// optimum is greedy: terminals with the highest value for their price go first. If both limits
// bind, two kinds of terminals have the same value at the optimal prices. Serving either kind first
// is optimal, and the optimum is the mix that uses up both limits.
//
// If terminals have the same value, the optimum is not unique. Then they get equal rates as far as
// the limits allow.
func (s *Solver) totalFirst(l Limits) prices {
	air := prices{airtime: 1}
	wire := prices{wire: 1}
	price := s.greedy(air, l, together)
	if _, total := s.used(); total <= l.Wire {
		return price
	}
	s.keep()
	s.greedy(air, l, lessWire)
	if _, total := s.used(); total <= l.Wire {
		s.combine(s.total, l.Wire)
		return price
	}
	price = s.greedy(wire, l, together)
	if air, _ := s.used(); air <= l.Airtime {
		return price
	}
	s.keep()
	s.greedy(wire, l, lessAir)
	if air, _ := s.used(); air <= l.Airtime {
		s.combine(s.airtime, l.Airtime)
		return price
	}
	low, high := s.turn(l)
	s.greedy(prices{1, low}, l, together)
	s.keep()
	price = s.greedy(prices{1, high}, l, together)
	// The limit with the smaller part of the price may keep a rest from rounding, which is a small
	// partition of it.
	if high*l.Wire > l.Airtime {
		s.combine(s.airtime, l.Airtime)
	} else {
		s.combine(s.total, l.Wire)
	}
	return price
}

func (s *Solver) airtime() float64 { air, _ := s.used(); return air }

func (s *Solver) total() float64 { _, total := s.used(); return total }

// span is an interval of the ratio of the wire's price to that of airtime. Below it the shares use
// too much of the wire. atLow and atHigh are the terminals with a partial demand at its ends, or -1
// if unknown.
type span struct {
	low, high     float64
	atLow, atHigh int
}

// turn finds two neighbouring ratios between which the lean changes its sign. There two terminals
// change their order, usually those with a partial demand at the two ends. So the next step tries
// the ratio at which these two have the same value, and its neighbours because of rounding, and
// otherwise the middle.
func (s *Solver) turn(l Limits) (low, high float64) {
	r := span{atLow: -1, atHigh: -1}
	r.low, r.high = s.ratios()
	for {
		if at := s.equalValueRatio(r.atLow, r.atHigh); s.narrow(&r, at, l) {
			for beside := epsilon; beside <= 64*epsilon; beside *= 8 {
				s.narrow(&r, at*(1-beside), l)
				s.narrow(&r, at*(1+beside), l)
			}
		}
		if !s.narrow(&r, math.Sqrt(r.low)*math.Sqrt(r.high), l) {
			return r.low, r.high
		}
	}
}

// narrow narrows a span at a ratio. It reports whether the ratio is inside of the span.
func (s *Solver) narrow(r *span, at float64, l Limits) bool {
	if !(at > r.low && at < r.high) {
		return false
	}
	s.greedy(prices{1, at}, l, together)
	if s.wireExcess(l) > 0 {
		r.low = at
		r.atLow = s.last
	} else {
		r.high = at
		r.atHigh = s.last
	}
	return true
}

// equalValueRatio returns the ratio of prices at which two terminals have the same value, or 0.
func (s *Solver) equalValueRatio(a, b int) float64 {
	if a < 0 || b < 0 || s.weight[a] == s.weight[b] {
		return 0
	}
	return (s.weight[a]*s.inverse[b] - s.weight[b]*s.inverse[a]) / (s.weight[b] - s.weight[a])
}

// greedy serves terminals in the order of their value for the price until the budget is used up. It
// returns the prices in units of the last terminal's value. It finds that terminal by partial
// quicksort.
func (s *Solver) greedy(p prices, l Limits, t ties) prices {
	s.setCosts(p)
	value := s.exponent
	for i := range s.order {
		s.order[i] = i
		s.factor[i] = 1
		value[i] = s.weight[i] / s.cost[i]
	}
	budget := p.budget(l)
	for indices := s.order; len(indices) > 0; {
		more, same := s.partition(indices)
		before := s.demandCost(indices[:more])
		with := 0.0
		if before <= budget {
			with = s.demandCost(indices[more : more+same])
		}
		switch {
		case before > budget:
			s.none(indices[more:])
			indices = indices[:more]
		case before+with > budget:
			s.serve(indices[:more])
			s.none(indices[more+same:])
			s.last = indices[more]
			s.level(indices[more:more+same], budget-before, t)
			return p.times(value[s.last])
		default:
			s.serve(indices[:more+same])
			budget -= before + with
			indices = indices[more+same:]
		}
	}
	return prices{}
}

// partition moves the terminals with a higher value than the pivot to the front, then those with
// the same value. It returns the numbers of both.
func (s *Solver) partition(indices []int) (more, same int) {
	value := s.exponent
	a := value[indices[0]]
	b := value[indices[len(indices)/2]]
	c := value[indices[len(indices)-1]]
	pivot := max(min(a, b), min(max(a, b), c))
	less := len(indices)
	for at := 0; at < less; {
		switch v := value[indices[at]]; {
		case v > pivot:
			indices[at], indices[more] = indices[more], indices[at]
			more++
			at++
		case v < pivot:
			less--
			indices[at], indices[less] = indices[less], indices[at]
		default:
			at++
		}
	}
	return more, less - more
}

// demandCost returns the cost of all demands of some terminals.
func (s *Solver) demandCost(indices []int) (sum float64) {
	for _, i := range indices {
		sum += s.cost[i] * s.demand[i]
	}
	return sum
}

func (s *Solver) serve(indices []int) {
	for _, i := range indices {
		s.share[i] = s.demand[i]
	}
}

func (s *Solver) none(indices []int) {
	for _, i := range indices {
		s.share[i] = 0
	}
}

// level serves terminals with the same value, together or some of them first. Their demand exceeds
// the budget.
func (s *Solver) level(indices []int, budget float64, t ties) {
	if t != together {
		slices.SortFunc(indices, func(i, j int) int {
			if t == lessWire {
				i, j = j, i
			}
			return cmp.Compare(s.inverse[i], s.inverse[j])
		})
	}
	for from := 0; from < len(indices); {
		to := len(indices)
		if t != together {
			for to = from + 1; to < len(indices) && s.inverse[indices[to]] == s.inverse[indices[from]]; {
				to++
			}
		}
		if level, _ := s.raiseLevel(s.all[:copy(s.all, indices[from:to])], budget); !math.IsInf(level, 1) {
			s.none(indices[to:])
			return
		}
		budget = max(budget-s.demandCost(indices[from:to]), 0)
		from = to
	}
}

// keep puts the shares aside.
func (s *Solver) keep() { copy(s.another, s.share) }

// combine combines the shares with the stored ones so that their use equals the limit. One set uses
// more than the limit, the other less.
func (s *Solver) combine(use func() float64, limit float64) {
	one := use()
	s.share, s.another = s.another, s.share
	other := use()
	part := 0.0 // weight of the allocation that is in share now
	if other != one {
		part = min(max((limit-one)/(other-one), 0), 1)
	}
	for i := range s.share {
		s.share[i] = min(s.another[i]+part*(s.share[i]-s.another[i]), s.demand[i])
	}
}
