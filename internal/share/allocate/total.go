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

// totalFirst finds an optimum for alpha = 0, a linear program, and its prices. At given prices the
// optimum is greedy: who brings most for the price of what it uses goes first. Where both limits
// bind, the prices are those at which two kinds of terminals bring the same; just below and just
// above them the one kind or the other goes first, both orders are optimal, and the mix of both
// that uses up both limits is the optimum.
//
// Optima are many where terminals bring the same: they are then put at one level as far as the
// limits allow, so that like terminals get the same.
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
	low, high := s.turn(l)
	s.greedy(prices{1, low}, l, together)
	s.keep()
	price = s.greedy(prices{1, high}, l, together)
	// What rounding leaves of the one limit is little of it where the other has the greater part of
	// the price.
	if high*l.Wire > l.Airtime {
		s.mix(s.airtime, l.Airtime)
	} else {
		s.mix(s.total, l.Wire)
	}
	return price
}

func (s *Solver) airtime() float64 { air, _ := s.used(); return air }

func (s *Solver) total() float64 { _, total := s.used(); return total }

// span is where the ratio of the wire's price to that of airtime lies: below it there is too much
// of the wire. atLow and atHigh are who gets a part of what it wants at its ends, -1 while that is
// not known.
type span struct {
	low, high     float64
	atLow, atHigh int
}

// turn finds two neighbouring ratios between which it turns over. There two terminals change
// places: as a rule those that get a part of what they want at the two ends. So the next look is
// where these do and just beside, for rounding hides on which side of it, and else in the middle.
func (s *Solver) turn(l Limits) (low, high float64) {
	r := span{atLow: -1, atHigh: -1}
	r.low, r.high = s.ratios()
	for {
		if at := s.meeting(r.atLow, r.atHigh); s.look(&r, at, l) {
			for beside := epsilon; beside <= 64*epsilon; beside *= 8 {
				s.look(&r, at*(1-beside), l)
				s.look(&r, at*(1+beside), l)
			}
		}
		if !s.look(&r, math.Sqrt(r.low)*math.Sqrt(r.high), l) {
			return r.low, r.high
		}
	}
}

// look narrows a span at a ratio, and says whether that lies in it.
func (s *Solver) look(r *span, at float64, l Limits) bool {
	if !(at > r.low && at < r.high) {
		return false
	}
	s.greedy(prices{1, at}, l, together)
	if s.lean(l) > 0 {
		r.low, r.atLow = at, s.last
	} else {
		r.high, r.atHigh = at, s.last
	}
	return true
}

// meeting is the ratio of prices at which two terminals bring the same; 0 where there is none.
func (s *Solver) meeting(a, b int) float64 {
	if a < 0 || b < 0 || s.weight[a] == s.weight[b] {
		return 0
	}
	return (s.weight[a]*s.inverse[b] - s.weight[b]*s.inverse[a]) / (s.weight[b] - s.weight[a])
}

// greedy serves terminals by what they bring for their price until the budget is used up. It
// returns the prices in units of what the last one brings. Who that is it finds without putting all
// in order, as in quicksort of which one side is left.
func (s *Solver) greedy(p prices, l Limits, t ties) prices {
	s.setCosts(p)
	value := s.exponent
	for i := range s.order {
		s.order[i], s.factor[i] = i, 1
		value[i] = s.weight[i] / s.cost[i]
	}
	budget := p.budget(l)
	for who := s.order; len(who) > 0; {
		more, same := s.part(who)
		before, with := s.asked(who[:more]), 0.0
		if before <= budget {
			with = s.asked(who[more : more+same])
		}
		switch {
		case before > budget:
			s.none(who[more:])
			who = who[:more]
		case before+with > budget:
			s.serve(who[:more])
			s.none(who[more+same:])
			s.last = who[more]
			s.level(who[more:more+same], budget-before, t)
			return p.times(value[s.last])
		default:
			s.serve(who[:more+same])
			budget -= before + with
			who = who[more+same:]
		}
	}
	return prices{}
}

// part puts those first that bring more than one of them, then those that bring as much. It returns
// how many they are.
func (s *Solver) part(who []int) (more, same int) {
	value := s.exponent
	a, b, c := value[who[0]], value[who[len(who)/2]], value[who[len(who)-1]]
	pivot := max(min(a, b), min(max(a, b), c))
	less := len(who)
	for at := 0; at < less; {
		switch v := value[who[at]]; {
		case v > pivot:
			who[at], who[more] = who[more], who[at]
			more++
			at++
		case v < pivot:
			less--
			who[at], who[less] = who[less], who[at]
		default:
			at++
		}
	}
	return more, less - more
}

// asked is what it costs to give some all that they ask for.
func (s *Solver) asked(who []int) (sum float64) {
	for _, i := range who {
		sum += s.cost[i] * s.demand[i]
	}
	return sum
}

func (s *Solver) serve(who []int) {
	for _, i := range who {
		s.share[i] = s.demand[i]
	}
}

func (s *Solver) none(who []int) {
	for _, i := range who {
		s.share[i] = 0
	}
}

// level serves those that bring the same, together or some of them first. They want more than the
// budget.
func (s *Solver) level(who []int, budget float64, t ties) {
	if t != together {
		slices.SortFunc(who, func(i, j int) int {
			if t == lessWire {
				i, j = j, i
			}
			return cmp.Compare(s.inverse[i], s.inverse[j])
		})
	}
	for from := 0; from < len(who); {
		to := len(who)
		if t != together {
			for to = from + 1; to < len(who) && s.inverse[who[to]] == s.inverse[who[from]]; {
				to++
			}
		}
		if level, _ := s.pour(s.all[:copy(s.all, who[from:to])], budget); !math.IsInf(level, 1) {
			s.none(who[to:])
			return
		}
		budget = max(budget-s.asked(who[from:to]), 0)
		from = to
	}
}

// keep puts the shares aside.
func (s *Solver) keep() { copy(s.another, s.share) }

// mix joins the shares with those put aside, so that what they use is the limit. The ones use more,
// the others less.
func (s *Solver) mix(use func() float64, limit float64) {
	one := use()
	s.share, s.another = s.another, s.share
	other := use()
	part := 0.0 // of those that are in share now
	if other != one {
		part = min(max((limit-one)/(other-one), 0), 1)
	}
	for i := range s.share {
		s.share[i] = min(s.another[i]+part*(s.share[i]-s.another[i]), s.demand[i])
	}
}
