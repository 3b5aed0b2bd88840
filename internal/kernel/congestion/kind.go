package congestion

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
)

// Kind is a congestion control that airtide has. It is also the name under which it is loaded unless another is given.
type Kind string

// The kinds.
const (
	CubicPlain Kind = "cubic_plain" // CUBIC as the kernel has it
	CubicRTTK  Kind = "cubic_rttk"  // CUBIC with K scaled by the RTT
	CubicRTT   Kind = "cubic_rtt"   // CUBIC with C scaled by the RTT
	CubicBound Kind = "cubic_bound" // CUBIC between bounds of its window
	Compound   Kind = "compound"    // Compound TCP
)

// kind is what there is to a Kind.
type kind struct {
	name     Kind
	number   cubicPlainCcKind
	about    string
	defaults Parameters
	load     func() (*ebpf.CollectionSpec, error)
}

var kinds = []kind{
	{
		CubicPlain, cubicPlainCcKindCC_KIND_CUBIC_PLAIN, "CUBIC as the kernel has it, to compare with",
		Parameters{Beta: defaultBeta},
		loadCubicPlain,
	},
	{
		CubicRTTK, cubicPlainCcKindCC_KIND_CUBIC_RTTK, "CUBIC with K * cbrt(RTT_ref / RTT), as published (Kozu et al.)",
		Parameters{RTTRefUs: 1_000_000, Beta: defaultBeta},
		loadCubicRTTK,
	},
	{
		CubicRTT, cubicPlainCcKindCC_KIND_CUBIC_RTT, "CUBIC with C * RTT / RTT_ref, in K and in the cubic, paced",
		Parameters{RTTRefUs: 200_000, Beta: defaultBeta},
		loadCubicRTT,
	},
	{
		CubicBound, cubicPlainCcKindCC_KIND_CUBIC_BOUND, "CUBIC between bounds of its window that may change at any time",
		Parameters{Beta: defaultBeta},
		loadCubicBound,
	},
	{
		Compound, cubicPlainCcKindCC_KIND_COMPOUND, "Compound TCP (draft-sridharan-tcpm-ctcp-02)",
		Parameters{Gamma: 30, GammaLow: 5, GammaHigh: 30, Lambda: 0.25, LowWindow: 38},
		loadCompound,
	},
}

// Kinds lists them.
func Kinds() []Kind {
	var all []Kind
	for _, k := range kinds {
		all = append(all, k.name)
	}
	return all
}

// About says in a line what a kind is.
func (k Kind) About() string {
	if one, err := k.find(); err == nil {
		return one.about
	}
	return ""
}

func (k Kind) find() (*kind, error) {
	i := slices.IndexFunc(kinds, func(one kind) bool { return one.name == k })
	if i < 0 {
		names := make([]string, len(kinds))
		for i, one := range kinds {
			names[i] = string(one.name)
		}
		return nil, fmt.Errorf("there is no congestion control %q: choose from %s", k, strings.Join(names, ", "))
	}
	return &kinds[i], nil
}
