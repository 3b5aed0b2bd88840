// Package kind names airtide's congestion controls and checks their parameters and bounds.
// It loads nothing: package congestion does.
package kind

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is one of airtide's congestion controls, and its default name in the kernel.
type Kind string

// The kinds.
const (
	CubicPlain Kind = "cubic_plain" // CUBIC as the kernel has it
	CubicRTTK  Kind = "cubic_rttk"  // CUBIC with K scaled by the RTT
	CubicRTT   Kind = "cubic_rtt"   // CUBIC with C scaled by the RTT
	CubicBound Kind = "cubic_bound" // CUBIC between bounds of its window
	Compound   Kind = "compound"    // Compound TCP
)

// description is the static knowledge of one kind.
type description struct {
	kind     Kind
	about    string
	defaults Parameters
}

var descriptions = []description{
	{CubicPlain, "CUBIC as the kernel has it, to compare with", Parameters{Beta: defaultBeta}},
	{
		CubicRTTK, "CUBIC with K * cbrt(RTT_ref / RTT), as published (Kozu et al.)",
		Parameters{RTTRefUs: 1_000_000, Beta: defaultBeta},
	},
	{
		CubicRTT, "CUBIC with C * RTT / RTT_ref, in K and in the cubic, paced",
		Parameters{RTTRefUs: 200_000, Beta: defaultBeta},
	},
	{CubicBound, "CUBIC between bounds of its window that may change at any time", Parameters{Beta: defaultBeta}},
	{
		Compound, "Compound TCP (draft-sridharan-tcpm-ctcp-02)",
		Parameters{Gamma: 30, GammaLow: 5, GammaHigh: 30, Lambda: 0.25, LowWindow: 38},
	},
}

// All lists the kinds.
func All() []Kind {
	all := make([]Kind, len(descriptions))
	for i, d := range descriptions {
		all[i] = d.kind
	}
	return all
}

// About describes a kind in one line.
func (k Kind) About() string { return k.description().about }

// Defaults returns the default parameters of a kind.
func (k Kind) Defaults() Parameters { return k.description().defaults }

// Check refuses a name that is not a kind. The error lists the kinds.
func (k Kind) Check() error {
	all := All()
	if slices.Contains(all, k) {
		return nil
	}
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one)
	}
	return fmt.Errorf("there is no congestion control %q: choose from %s", k, strings.Join(names, ", "))
}

// description is empty for an unknown kind.
func (k Kind) description() description {
	i := slices.IndexFunc(descriptions, func(d description) bool { return d.kind == k })
	if i < 0 {
		return description{}
	}
	return descriptions[i]
}
