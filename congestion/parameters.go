package congestion

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Parameters are what is set when a congestion control is loaded. Those that a kind does not have are 0.
type Parameters struct {
	// RTTRefUs is the RTT at which cubic_rttk and cubic_rtt are CUBIC, in microseconds.
	RTTRefUs uint32 `json:"rtt_ref_us,omitempty"`
	// Beta is what a CUBIC keeps of its window after a loss, in steps of 1/1024.
	Beta float64 `json:"beta,omitempty"`
	// NoHyStart lets slow start last until loss.
	NoHyStart bool `json:"no_hystart,omitempty"`
	// Gamma is how many packets Compound lets wait in the path's queue: at first, and its bounds. In steps of 1/256.
	Gamma     float64 `json:"gamma,omitempty"`
	GammaLow  float64 `json:"gamma_low,omitempty"`
	GammaHigh float64 `json:"gamma_high,omitempty"`
	// Lambda is the weight of a new gamma, in steps of 1/256.
	Lambda float64 `json:"lambda,omitempty"`
	// LowWindow is the least window, in packets, with which Compound's delay part works.
	LowWindow uint32 `json:"low_window,omitempty"`
}

// The limits of parameters.
const (
	// MinRTTRefUs and MaxRTTRefUs are the range for which the arithmetic's error bounds are tested.
	MinRTTRefUs, MaxRTTRefUs = 1_000, 10_000_000
	betaSteps                = 1024
	packetSteps              = 256
	lambdaSteps              = 256
	// defaultBeta is the kernel's.
	defaultBeta  = 717. / betaSteps
	maxGamma     = 10_000
	maxLowWindow = 1 << 20
)

// Defaults are a kind's parameters when nothing else is said.
func (k Kind) Defaults() Parameters {
	if one, err := k.find(); err == nil {
		return one.defaults
	}
	return Parameters{}
}

// Names lists the parameters that a kind has, by the names of the command line's flags.
func (k Kind) Names() []string {
	switch k {
	case Compound:
		return []string{"gamma", "gamma-low", "gamma-high", "lambda", "low-window"}
	case CubicRTT, CubicRTTK:
		return []string{"rtt-ref", "beta", "no-hystart"}
	}
	return []string{"beta", "no-hystart"}
}

// Check tells what is wrong with the parameters for a kind.
func (p Parameters) Check(k Kind) error {
	within := func(name string, value, low, high float64) error {
		// NaN is not within.
		if !(value >= low && value <= high) {
			return fmt.Errorf("%s %g: want %g to %g", name, value, low, high)
		}
		return nil
	}
	var errs []error
	for _, name := range k.Names() {
		switch name {
		case "rtt-ref":
			errs = append(errs, within("reference RTT in microseconds", float64(p.RTTRefUs), MinRTTRefUs, MaxRTTRefUs))
		case "beta":
			errs = append(errs, within("beta", p.Beta, 0.1, 0.95))
		case "gamma":
			errs = append(errs, within("gamma", p.Gamma, p.GammaLow, p.GammaHigh))
		case "gamma-low":
			errs = append(errs, within("lower bound of gamma", p.GammaLow, 1, p.GammaHigh))
		case "gamma-high":
			errs = append(errs, within("upper bound of gamma", p.GammaHigh, 1, maxGamma))
		case "lambda":
			errs = append(errs, within("lambda", p.Lambda, 0, 1))
		case "low-window":
			errs = append(errs, within("low window", float64(p.LowWindow), 2, maxLowWindow))
		}
	}
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("parameters of %s: %w", k, err)
		}
	}
	return nil
}

// String lists the parameters that are set, as flags of the command line.
func (p Parameters) String() string {
	var s []string
	add := func(set bool, format string, v any) {
		if set {
			s = append(s, fmt.Sprintf(format, v))
		}
	}
	add(p.RTTRefUs != 0, "rtt-ref=%gms", float64(p.RTTRefUs)/1000)
	add(p.Beta != 0, "beta=%.4g", p.Beta)
	add(p.NoHyStart, "no-hystart=%t", true)
	add(p.Gamma != 0, "gamma=%g", p.Gamma)
	add(p.GammaLow != 0, "gamma-low=%g", p.GammaLow)
	add(p.GammaHigh != 0, "gamma-high=%g", p.GammaHigh)
	add(p.GammaHigh != 0, "lambda=%g", p.Lambda)
	add(p.LowWindow != 0, "low-window=%d", p.LowWindow)
	return strings.Join(s, " ")
}

// wire is the parameters as the programs have them.
type wire = cubicPlainCcParameters

var magic = [8]int8{'a', 'i', 'r', 't', 'i', 'd', 'e'}

func steps(v float64, per float64) uint32 { return uint32(math.Round(v * per)) }

func (p Parameters) toWire(k *kind, hz int) wire {
	w := wire{
		Magic: magic, Kind: k.number, Hz: uint32(hz), RttRefUs: p.RTTRefUs, Beta: steps(p.Beta, betaSteps), Hystart: 1,
		Gamma: steps(p.Gamma, packetSteps), GammaLow: steps(p.GammaLow, packetSteps), GammaHigh: steps(p.GammaHigh, packetSteps),
		Lambda: steps(p.Lambda, lambdaSteps), LowWindow: p.LowWindow,
	}
	if p.NoHyStart {
		w.Hystart = 0
	}
	return w
}

// fromWire reads the parameters of a loaded program; ok says that airtide made it.
func fromWire(raw []byte) (k *kind, p Parameters, ok bool) {
	var w wire
	if err := binary.Read(bytes.NewReader(raw), binary.NativeEndian, &w); err != nil || w.Magic != magic {
		return nil, p, false
	}
	i := slices.IndexFunc(kinds, func(one kind) bool { return one.number == w.Kind })
	if i < 0 {
		return nil, p, false
	}
	k = &kinds[i]
	for _, name := range k.name.Names() {
		switch name {
		case "rtt-ref":
			p.RTTRefUs = w.RttRefUs
		case "beta":
			p.Beta = float64(w.Beta) / betaSteps
		case "no-hystart":
			p.NoHyStart = w.Hystart == 0
		case "gamma":
			p.Gamma = float64(w.Gamma) / packetSteps
		case "gamma-low":
			p.GammaLow = float64(w.GammaLow) / packetSteps
		case "gamma-high":
			p.GammaHigh = float64(w.GammaHigh) / packetSteps
		case "lambda":
			p.Lambda = float64(w.Lambda) / lambdaSteps
		case "low-window":
			p.LowWindow = w.LowWindow
		}
	}
	return k, p, true
}
