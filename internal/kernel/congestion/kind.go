package congestion

import (
	"github.com/cilium/ebpf"

	"airtide/internal/kernel/congestion/kind"
)

// The vocabulary of package kind.
type (
	Kind       = kind.Kind
	Parameters = kind.Parameters
	Bounds     = kind.Bounds
)

// The kinds.
const (
	CubicPlain = kind.CubicPlain
	CubicRTTK  = kind.CubicRTTK
	CubicRTT   = kind.CubicRTT
	CubicBound = kind.CubicBound
	Compound   = kind.Compound
)

// program is the BPF program of a kind.
type program struct {
	number cubicPlainCcKind
	load   func() (*ebpf.CollectionSpec, error)
}

var programs = map[Kind]program{
	CubicPlain: {cubicPlainCcKindCC_KIND_CUBIC_PLAIN, loadCubicPlain},
	CubicRTTK:  {cubicPlainCcKindCC_KIND_CUBIC_RTTK, loadCubicRTTK},
	CubicRTT:   {cubicPlainCcKindCC_KIND_CUBIC_RTT, loadCubicRTT},
	CubicBound: {cubicPlainCcKindCC_KIND_CUBIC_BOUND, loadCubicBound},
	Compound:   {cubicPlainCcKindCC_KIND_COMPOUND, loadCompound},
}
