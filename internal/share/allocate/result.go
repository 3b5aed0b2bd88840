package allocate

import "fmt"

// Result is an optimum.
type Result struct {
	// Shares are the terminals' rates, in their order.
	Shares []float64
	// Lambda and Mu are the prices of airtime and wire: the growth of the objective for one more
	// unit of the limit. The objective is the sum of utilities, or for FairnessFirst the smallest
	// rate below its demand. For a very large alpha the prices may underflow to 0 or overflow to
	// infinity.
	Lambda, Mu float64
	// Airtime is the used airtime, sum(x/M). Total is the used capacity of the wire, sum(x).
	Airtime, Total float64
	// Binds is the limit that keeps the shares from growing.
	Binds Limit
}

// Limit is a limit that keeps shares from growing.
type Limit uint8

// Demand means that all terminals get their demand. The other limits are used up to one part in
// 10^9.
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

// result computes the totals. It scales the shares down if rounding put them above a limit.
func (s *Solver) result(l Limits, met bool, price prices) Result {
	r := Result{Shares: s.share, Lambda: price.airtime, Mu: price.wire}
	r.Airtime, r.Total = s.used()
	if over := max(r.Airtime/l.Airtime, r.Total/l.Wire); over > 1 {
		for i := range s.share {
			s.share[i] /= over
		}
		r.Airtime, r.Total = s.used()
	}
	air := r.Airtime >= l.Airtime*(1-tolerance)
	wire := r.Total >= l.Wire*(1-tolerance)
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
