package message

import (
	"fmt"
	"time"
)

// ProbeKind is the kind of a probe: a short time for which all terminals agree to send differently,
// so that something can be measured. It is no probe frame of 802.11.
type ProbeKind uint8

// The kinds.
const (
	NoProbe      ProbeKind = iota
	RateProbe              // one terminal sends alone; the others carry next to nothing
	RTTProbe               // all keep a few packets in flight, so that the path's RTT shows
	ReleaseProbe           // nobody is bounded
	numProbeKinds
)

var probeNames = [numProbeKinds]string{"none", "rate", "rtt", "release"}

func (k ProbeKind) String() string {
	if k >= numProbeKinds {
		return fmt.Sprintf("probe %d", uint8(k))
	}
	return probeNames[k]
}

// MarshalText is the kind's name.
func (k ProbeKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Probe announces a probe to the peers. The zero value announces none.
type Probe struct {
	Kind ProbeKind `json:"kind"`
	// InMs is the time from the report to its beginning, and ForMs its length.
	InMs  uint16 `json:"in_ms"`
	ForMs uint16 `json:"for_ms"`
}

// Times of a probe are multiples of these steps. A report has no room for greater ones.
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

// ProbeIn returns a probe that begins in some time, rounded to the steps of a report, and none if a
// report has no room for it.
func ProbeIn(kind ProbeKind, in, length time.Duration) Probe {
	in, length = max(in, 0).Round(ProbeBeginStep), length.Round(ProbeLengthStep)
	if kind == NoProbe || kind >= numProbeKinds || in > LatestProbe || length <= 0 || length > LongestProbe {
		return Probe{}
	}
	return Probe{kind, uint16(in.Milliseconds()), uint16(length.Milliseconds())}
}

func (t Probe) check() error {
	in, length := time.Duration(t.InMs)*time.Millisecond, time.Duration(t.ForMs)*time.Millisecond
	if t != ProbeIn(t.Kind, in, length) {
		return fmt.Errorf("a %s probe in %s for %s: a report has no room for it", t.Kind, in, length)
	}
	return nil
}

func (t Probe) flags() uint16 {
	begin, length := t.InMs/uint16(ProbeBeginStep.Milliseconds()), t.ForMs/uint16(ProbeLengthStep.Milliseconds())
	return uint16(t.Kind)<<probeKindBit | begin<<probeBeginBit | length<<probeLengthBit
}

// probeOf reads a probe from flags. Flags that are no valid probe are none.
func probeOf(flags uint16) Probe {
	return ProbeIn(ProbeKind(flags>>probeKindBit&probeKindMask),
		time.Duration(flags>>probeBeginBit&probeBeginMask)*ProbeBeginStep, time.Duration(flags>>probeLengthBit&probeLengthMask)*ProbeLengthStep)
}
