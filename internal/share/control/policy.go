package control

import "fmt"

// Policy is the rule by which windows are bounded.
type Policy string

// The policies.
const (
	// Shares keeps each terminal to its share of the allocation.
	Shares Policy = "shares"
	// EqualCapPolicy is a reconstruction of the middleware of Matsuno et al. 2021, for comparison.
	// It bounds windows to an equal part of the capacity times the smallest RTT, and less as the
	// RTT grows.
	EqualCapPolicy Policy = "equal-cap"
	// EqualRangePolicy is a second reconstruction: a floor and a cap around an equal part of the
	// capacity, times the measured RTT.
	EqualRangePolicy Policy = "equal-range"
	// Observe sends reports and bounds nothing.
	Observe Policy = "observe"
)

// Policies lists all policies.
var Policies = []Policy{Shares, EqualCapPolicy, EqualRangePolicy, Observe}

// DividesCapacity reports whether the policy needs Config.CapacityBps.
func (p Policy) DividesCapacity() bool { return p == EqualCapPolicy || p == EqualRangePolicy }

// ParsePolicy reads the name of a policy.
func ParsePolicy(s string) (Policy, error) {
	for _, p := range Policies {
		if s == string(p) {
			return p, nil
		}
	}
	return "", fmt.Errorf("policy %q: want shares, equal-cap, equal-range or observe", s)
}
