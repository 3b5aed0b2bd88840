package control

import "fmt"

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

// ParsePolicy reads the name of a policy.
func ParsePolicy(s string) (Policy, error) {
	for _, p := range Policies {
		if s == string(p) {
			return p, nil
		}
	}
	return "", fmt.Errorf("policy %q: want shares, equal-cap or observe", s)
}
