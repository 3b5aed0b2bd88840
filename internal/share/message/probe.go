package message

import (
	"fmt"
	"time"
)

// ProbeKind is the kind of a probe. In a probe, all terminals change how they send for a short
// time, so that one of them can measure. It is not a probe frame of 802.11.
type ProbeKind uint8

// The kinds.
const (
	NoProbe      ProbeKind = iota
	RTTProbe               // all terminals keep a few packets in flight, which shows the path's RTT
	ReleaseProbe           // no terminal is bounded
	numProbeKinds
)

var probeNames = [numProbeKinds]string{"none", "rtt", "release"}

func (k ProbeKind) String() string {
	if k >= numProbeKinds {
		return fmt.Sprintf("probe %d", uint8(k))
	}
	return probeNames[k]
}

// MarshalText returns the name of the kind.
func (k ProbeKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Probe announces a probe to the peers. The zero value announces no probe.
type Probe struct {
	Kind ProbeKind `json:"kind"`
	// InMs is the time from the report to the start. ForMs is the length.
	InMs  uint16 `json:"in_ms"`
	ForMs uint16 `json:"for_ms"`
}

// The times of a probe are multiples of these steps. A report has no room for longer times.
const (
	ProbeBeginStep  = 25 * time.Millisecond
	ProbeLengthStep = 200 * time.Millisecond
	LatestProbe     = probeBeginMask * ProbeBeginStep
	LongestProbe    = probeLengthMask * ProbeLengthStep
)

// Bits of a probe in the flags of a report.
const (
	probeKindBit, probeKindMask     = 1, 3
	probeBeginBit, probeBeginMask   = 3, 63
	probeLengthBit, probeLengthMask = 9, 15
)

// ProbeIn returns a probe with a start and a length, rounded to the steps of a report. It returns
// the zero value if a report has no room for it.
func ProbeIn(kind ProbeKind, in, length time.Duration) Probe {
	in = max(in, 0).Round(ProbeBeginStep)
	length = length.Round(ProbeLengthStep)
	if kind == NoProbe || kind >= numProbeKinds || in > LatestProbe || length <= 0 || length > LongestProbe {
		return Probe{}
	}
	return Probe{kind, uint16(in.Milliseconds()), uint16(length.Milliseconds())}
}

func (t Probe) check() error {
	in := time.Duration(t.InMs) * time.Millisecond
	length := time.Duration(t.ForMs) * time.Millisecond
	if t != ProbeIn(t.Kind, in, length) {
		return fmt.Errorf("a %s probe in %s for %s: a report has no room for it", t.Kind, in, length)
	}
	return nil
}

func (t Probe) flags() uint16 {
	begin := t.InMs / uint16(ProbeBeginStep.Milliseconds())
	length := t.ForMs / uint16(ProbeLengthStep.Milliseconds())
	return uint16(t.Kind)<<probeKindBit | begin<<probeBeginBit | length<<probeLengthBit
}

// probeOf decodes a probe from flags. Invalid flags give the zero value.
func probeOf(flags uint16) Probe {
	return ProbeIn(ProbeKind(flags>>probeKindBit&probeKindMask),
		time.Duration(flags>>probeBeginBit&probeBeginMask)*ProbeBeginStep,
		time.Duration(flags>>probeLengthBit&probeLengthMask)*ProbeLengthStep)
}
