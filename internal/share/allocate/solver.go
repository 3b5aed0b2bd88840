package allocate

import "math"

// Solver reuses its memory: it allocates only if the number of terminals grows. The zero value is
// ready. It must not be used by several goroutines at once.
type Solver struct {
	alpha                           float64
	inverse, weight, demand, share  []float64 // inverse of Max: the airtime for one unit of rate
	cost, factor, exponent, another []float64
	all, order                      []int
	// reference is taken from exponents, so that their powers are numbers.
	reference float64
	last      int // the last terminal that greedy gave only a part of its demand
}

// Solve finds the allocation. The shares in the result are the caller's.
func Solve(alpha float64, l Limits, terminals []Terminal) (Result, error) {
	var s Solver
	return s.Solve(alpha, l, terminals)
}

// Solve finds the allocation. The shares in the result are the solver's, and valid until it solves
// again.
func (s *Solver) Solve(alpha float64, l Limits, terminals []Terminal) (Result, error) {
	if err := check(alpha, l, terminals); err != nil {
		return Result{}, err
	}
	if l.Airtime == 0 {
		l.Airtime = 1
	}
	s.take(alpha, terminals)
	// The demands are the optimum if they keep both limits.
	copy(s.share, s.demand)
	if air, total := s.used(); air <= l.Airtime && total <= l.Wire {
		return s.result(l, true, prices{}), nil
	}
	if alpha == TotalFirst {
		return s.result(l, false, s.totalFirst(l)), nil
	}
	return s.result(l, false, s.fair(l)), nil
}

// take copies a problem into columns.
func (s *Solver) take(alpha float64, terminals []Terminal) {
	n := len(terminals)
	if cap(s.inverse) < n {
		columns := make([]float64, 8*n)
		for _, c := range []*[]float64{
			&s.inverse, &s.weight, &s.demand, &s.share, &s.cost, &s.factor, &s.exponent, &s.another,
		} {
			*c = columns[:n:n]
			columns = columns[n:]
		}
		s.all = make([]int, n)
		s.order = make([]int, n)
	}
	for _, c := range []*[]float64{
		&s.inverse, &s.weight, &s.demand, &s.share, &s.cost, &s.factor, &s.exponent, &s.another,
	} {
		*c = (*c)[:n]
	}
	s.alpha = alpha
	s.all = s.all[:n]
	s.order = s.order[:n]
	for i, t := range terminals {
		s.inverse[i] = 1 / t.Max
		s.weight[i] = t.Weight
		s.demand[i] = t.Demand
		if t.Weight == 0 {
			s.weight[i] = 1
		}
	}
}

// used returns the airtime and the rate that the shares use.
func (s *Solver) used() (air, total float64) {
	for i, x := range s.share {
		air += x * s.inverse[i]
		total += x
	}
	return air, total
}

// fair finds the optimum for alpha > 0, and its prices.
func (s *Solver) fair(l Limits) prices {
	price := s.fill(prices{airtime: 1}, l)
	if _, total := s.used(); total <= l.Wire {
		return price
	}
	price = s.fill(prices{wire: 1}, l)
	if air, _ := s.used(); air <= l.Airtime {
		return price
	}
	return s.balance(l)
}

// leanTolerance is a lean that counts as zero, because of rounding.
const leanTolerance = 1e-14

// balance finds the ratio of prices at which both limits are used up. As a function of the ratio's
// logarithm, the lean is nearly a logistic curve. Its log odds are nearly linear, so secants find
// the zero. If a secant does not narrow the interval, balance halves it.
func (s *Solver) balance(l Limits) prices {
	low, high := s.ratios()
	price := s.fill(prices{1, high}, l)
	most := -s.wireExcess(l)
	if most <= 0 {
		return price
	}
	price = s.fill(prices{1, low}, l)
	least := s.wireExcess(l)
	if least <= 0 {
		return price
	}
	from := math.Log(low)
	to := math.Log(high)
	at := min(max(math.Log(l.Airtime/l.Wire), from+1), to-1)
	was := math.NaN()
	slope := -1.0
	before := 0.0
	for range maxSteps {
		price = s.fill(prices{1, math.Exp(at)}, l)
		lean := s.wireExcess(l)
		if math.Abs(lean) <= leanTolerance {
			break
		}
		wide := to - from
		if lean > 0 {
			from = at
		} else {
			to = at
		}
		odds := math.Log((lean+most)/(least-lean)) - math.Log(most/least)
		if d := (odds - before) / (at - was); d < 0 && !math.IsInf(d, -1) {
			slope = d
		}
		was = at
		before = odds
		at -= odds / slope
		if mid := from + (to-from)/2; !(at > from && at < to) || to-from > wide/2 && math.Abs(at-was) > wide/4 {
			at = mid
		}
		if !(at > from && at < to) || math.Abs(at-was) <= epsilon*max(1, math.Abs(at)) {
			break
		}
	}
	return price
}

// maxSteps is above the number of steps that halving needs.
const maxSteps = 100

// epsilon is by how much the next number after 1 is greater.
const epsilon = 1.0 / (1 << 52)

// wireExcess returns a positive value if the shares use too much of the wire and too little
// airtime, a negative value in the opposite case. It weighs the rounding of both alike.
func (s *Solver) wireExcess(l Limits) float64 {
	air, total := s.used()
	return total/l.Wire - air/l.Airtime
}

// ratios returns the range of price ratios within which both prices matter to at least one
// terminal. Outside of it, one price is lost in the rounding of the sum (53 bits).
func (s *Solver) ratios() (low, high float64) {
	const lost = 1.0 / (1 << 54)
	least := math.Inf(1)
	most := 0.0
	for _, v := range s.inverse {
		least = min(least, v)
		most = max(most, v)
	}
	return least * lost, most / lost
}
