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
	number cubicCcKind
	load   func() (*ebpf.CollectionSpec, error)
}

var programs = map[Kind]program{
	CubicPlain: {cubicCcKindCC_KIND_CUBIC_PLAIN, loadCubic},
	CubicRTTK:  {cubicCcKindCC_KIND_CUBIC_RTTK, loadCubic},
	CubicRTT:   {cubicCcKindCC_KIND_CUBIC_RTT, loadCubic},
	CubicBound: {cubicCcKindCC_KIND_CUBIC_BOUND, loadCubicBound},
	Compound:   {cubicCcKindCC_KIND_COMPOUND, loadCompound},
}
