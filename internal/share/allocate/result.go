package allocate

import "fmt"

// Result is an optimum.
type Result struct {
	// Shares are the terminals' rates, in their order.
	Shares []float64
	// Lambda and Mu are the prices of airtime and wire: by how much what is maximised would grow
	// with one more unit of the limit. That is the sum of utilities; for FairnessFirst, the least
	// rate that is not held by its demand. They pass the range of numbers (0, or infinity) where
	// alpha is so great that utilities do.
	Lambda, Mu float64
	// Airtime is what is used of it, sum(x/M), and Total of the wire, sum(x).
	Airtime, Total float64
	// Binds says what keeps the shares from being greater.
	Binds Limit
}

// Limit is what keeps shares from being greater.
type Limit uint8

// Demand: all terminals get what they ask for. The other limits are used up, to one part in 10^9.
const (
	Demand Limit = iota
	Airtime
	Wire
	Both
)

var limitNames = [...]string{"demand", "airtime", "wire", "both"}

func (l Limit) String() string {
	if int(l) < len(limitNames) {
		return limitNames[l]
	}
	return fmt.Sprintf("limit %d", l)
}

// MarshalText writes the limit's name.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// tolerance is the part of a limit that may be left when it counts as used up.
const tolerance = 1e-9

// result sums up the shares. What rounding has put above a limit is taken from all.
func (s *Solver) result(l Limits, met bool, price prices) Result {
	r := Result{Shares: s.share, Lambda: price.airtime, Mu: price.wire}
	r.Airtime, r.Total = s.used()
	if over := max(r.Airtime/l.Airtime, r.Total/l.Wire); over > 1 {
		for i := range s.share {
			s.share[i] /= over
		}
		r.Airtime, r.Total = s.used()
	}
	air, wire := r.Airtime >= l.Airtime*(1-tolerance), r.Total >= l.Wire*(1-tolerance)
	switch {
	case met:
		r.Binds = Demand
	case air && wire:
		r.Binds = Both
	case air:
		r.Binds = Airtime
	default:
		r.Binds = Wire
	}
	return r
}
