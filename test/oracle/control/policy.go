package control

// Policy is by what rule windows are bounded.
type Policy string

// The policies.
const (
	// Shares keeps each terminal to its share of the allocation.
	Shares Policy = "shares"
	// EqualCapPolicy is our reconstruction of the middleware of P4: the capacity by the number of
	// terminals, as a window of the smallest RTT, less as the RTT grows. It is there for
	// comparison.
	EqualCapPolicy Policy = "equal-cap"
	// Observe reports, and bounds nothing.
	Observe Policy = "observe"
)

// Policies are all of them.
var Policies = []Policy{Shares, EqualCapPolicy, Observe}
