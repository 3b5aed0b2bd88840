package kind

import (
	"fmt"
	"strings"
)

// Parameters are set when a congestion control is loaded. Parameters that a kind does not have are
// 0.
type Parameters struct {
	// RTTRefUs is the RTT at which cubic_rttk and cubic_rtt are CUBIC, in microseconds.
	RTTRefUs uint32 `json:"rtt_ref_us,omitempty"`
	// Beta is the share of its window that a CUBIC keeps after a loss, in steps of 1/1024.
	Beta float64 `json:"beta,omitempty"`
	// NoHyStart lets slow start last until loss.
	NoHyStart bool `json:"no_hystart,omitempty"`
	// Headroom lets the window of cubic_plain grow only while it is at most so many packets larger
	// than what was in flight, as kernels before 3.16 did with 3. 0 is the rule of today's kernels.
	Headroom uint32 `json:"headroom,omitempty"`
	// TimeNum / TimeDen is the speed of the kernel's clock in units of real time (airtide
	// timewarp). A CUBIC needs it to grow its window by real time. 0 / 0 is 1.
	TimeNum uint32 `json:"time_num,omitempty"`
	TimeDen uint32 `json:"time_den,omitempty"`
	// Gamma is the number of packets that Compound lets wait in the path's queue: its first value
	// and its bounds, in steps of 1/256.
	Gamma     float64 `json:"gamma,omitempty"`
	GammaLow  float64 `json:"gamma_low,omitempty"`
	GammaHigh float64 `json:"gamma_high,omitempty"`
	// Lambda is the weight of a new gamma, in steps of 1/256.
	Lambda float64 `json:"lambda,omitempty"`
	// LowWindow is the least window, in packets, for Compound's delay part.
	LowWindow uint32 `json:"low_window,omitempty"`
}

// The limits of parameters.
const (
	// MinRTTRefUs and MaxRTTRefUs are the range for which the arithmetic's error bounds are tested.
	MinRTTRefUs, MaxRTTRefUs = 1_000, 10_000_000
	// defaultBeta is the kernel's.
	defaultBeta = 717. / 1024
	maxGamma    = 10_000
	// minTimeRatio and maxTimeRatio are the limits of airtide timewarp.
	minTimeRatio = 0.1
	maxTimeRatio = 1000
	// maxTimeTerm keeps products within 64 bits.
	maxTimeTerm  = 1_000_000
	maxLowWindow = 1 << 20
	maxHeadroom  = 1 << 20
)

// Names lists the parameters of a kind, by the names of the command line's flags.
func (k Kind) Names() []string {
	switch k {
	case Compound:
		return []string{"gamma", "gamma-low", "gamma-high", "lambda", "low-window"}
	case CubicRTT, CubicRTTK:
		return []string{"rtt-ref", "beta", "no-hystart"}
	case CubicPlain:
		return []string{"beta", "no-hystart", "headroom"}
	}
	return []string{"beta", "no-hystart"}
}

// TakesTimeRatio reports whether a kind can follow a kernel clock that is not real time.
// Compound grows by round trips alone and does not need it.
func (k Kind) TakesTimeRatio() bool { return k != Compound }

// Check returns the first mistake in the parameters of a kind.
func (p Parameters) Check(k Kind) error {
	within := func(name string, value, low, high float64) error {
		// NaN is not within.
		if !(value >= low && value <= high) {
			return &ValueError{Found: fmt.Sprintf("%s %g", name, value), Want: fmt.Sprintf("%g to %g", low, high)}
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
		case "headroom":
			errs = append(errs, within("headroom", float64(p.Headroom), 0, maxHeadroom))
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
	num, den := p.TimeRatio()
	errs = append(errs, within("time ratio", float64(num)/float64(den), minTimeRatio, maxTimeRatio),
		within("numerator of the time ratio", float64(num), 1, maxTimeTerm),
		within("denominator of the time ratio", float64(den), 1, maxTimeTerm))
	if num != den && !k.TakesTimeRatio() {
		errs = append(errs, &ValueError{Found: "a time ratio is for those that grow by the clock"})
	}
	for _, err := range errs {
		if err != nil {
			return fmt.Errorf("parameters of %s: %w", k, err)
		}
	}
	return nil
}

// TimeRatio is the speed of the kernel's clock in units of real time, as a fraction.
func (p Parameters) TimeRatio() (num, den uint32) {
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
	add(p.Headroom != 0, "headroom=%d", p.Headroom)
	add(p.TimeDen == 1, "time-ratio=%d", p.TimeNum)
	add(p.TimeDen > 1, "time-ratio=%s", fmt.Sprintf("%d/%d", p.TimeNum, p.TimeDen))
	add(p.Gamma != 0, "gamma=%g", p.Gamma)
	add(p.GammaLow != 0, "gamma-low=%g", p.GammaLow)
	add(p.GammaHigh != 0, "gamma-high=%g", p.GammaHigh)
	add(p.GammaHigh != 0, "lambda=%g", p.Lambda)
	add(p.LowWindow != 0, "low-window=%d", p.LowWindow)
	return strings.Join(s, " ")
}
