package congestion

import (
	"bytes"
	"encoding/binary"
	"errors"
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
	// TimeNum / TimeDen is how many times as fast as real time the kernel's clock runs (airtide timewarp), so that a CUBIC's window
	// grows by real time. 0 / 0 is 1.
	TimeNum uint32 `json:"time_num,omitempty"`
	TimeDen uint32 `json:"time_den,omitempty"`
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
	defaultBeta = 717. / betaSteps
	maxGamma    = 10_000
	// maxTimeRatio and its reciprocal are what airtide timewarp can do; maxTimeTerm keeps products within 64 bits.
	maxTimeRatio = 1000
	minTimeRatio = 0.1
	maxTimeTerm  = 1_000_000
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

// TakesTimeRatio says whether a kind can be told that the kernel's clock is not real time: Compound grows by round trips alone,
// and has no need of it.
func (k Kind) TakesTimeRatio() bool { return k != Compound }

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
	num, den := p.timeRatio()
	errs = append(errs, within("time ratio", float64(num)/float64(den), minTimeRatio, maxTimeRatio),
		within("numerator of the time ratio", float64(num), 1, maxTimeTerm), within("denominator of the time ratio", float64(den), 1, maxTimeTerm))
	if num != den && !k.TakesTimeRatio() {
		errs = append(errs, errors.New("a time ratio is for those that grow by the clock"))
	}
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("parameters of %s: %w", k, err)
		}
	}
	return nil
}

// timeRatio is how many times as fast as real time the kernel's clock runs.
func (p Parameters) timeRatio() (num, den uint32) {
	if p.TimeNum == 0 && p.TimeDen == 0 {
		return 1, 1
	}
	return p.TimeNum, p.TimeDen
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
	add(p.TimeDen == 1, "time-ratio=%d", p.TimeNum)
	add(p.TimeDen > 1, "time-ratio=%s", fmt.Sprintf("%d/%d", p.TimeNum, p.TimeDen))
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

// toWire fits the parameters to a kernel of so many ticks per second of its clock. A real second has more of them by the time
// ratio, at least 1: whole numbers do, since rounding is below 1 % even at the lowest rates.
func (p Parameters) toWire(k *kind, hz int) wire {
	num, den := p.timeRatio()
	w := wire{
		Magic: magic, Kind: k.number, Hz: max(1, uint32(math.Round(float64(hz)*float64(num)/float64(den)))),
		TimeNum: num, TimeDen: den, RttRefUs: p.RTTRefUs, Beta: steps(p.Beta, betaSteps), Hystart: 1,
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
	// One that an earlier version has loaded lacks what came later, which then is 0.
	raw = append(slices.Clone(raw), make([]byte, max(0, binary.Size(w)-len(raw)))...)
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
	if w.TimeNum != w.TimeDen {
		p.TimeNum, p.TimeDen = w.TimeNum, w.TimeDen
	}
	return k, p, true
}
