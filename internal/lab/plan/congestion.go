package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	congestion "airtide/internal/kernel/congestion/kind"
	"airtide/internal/lab/document"
)

// CongestionControl is a congestion control of airtide with its parameters. Missing parameters have
// the defaults of the kind. The lab loads it for each run that uses it.
type CongestionControl struct {
	Kind      CongestionKind `json:"kind" jsonschema:"Kind of congestion control, as in airtide cc."`
	RTTRef    Duration       `json:"rtt_ref,omitzero" jsonschema:"RTT at which cubic_rttk and cubic_rtt equal CUBIC. Default: 1 s for cubic_rttk, 200 ms for cubic_rtt."`
	Beta      Share          `json:"beta,omitzero" jsonschema:"CUBIC: share of the window that remains after a loss. Default 717/1024."`
	HyStart   *bool          `json:"hystart,omitzero" jsonschema:"CUBIC: whether slow start may end before the first loss. Default true."`
	Headroom  int            `json:"headroom,omitzero" jsonschema:"cubic_plain: its window grows only while it is at most so many packets larger than what was in flight, as kernels before 3.16 did with 3. Default: the rule of today's kernels."`
	Gamma     int            `json:"gamma,omitzero" jsonschema:"Compound: initial number of packets that may wait in the path. Default 30."`
	GammaLow  int            `json:"gamma_low,omitzero" jsonschema:"Compound: smallest gamma, in packets. Default 5."`
	GammaHigh int            `json:"gamma_high,omitzero" jsonschema:"Compound: largest gamma, in packets. Default 30."`
	Lambda    *Share         `json:"lambda,omitzero" jsonschema:"Compound: weight of a new gamma, 0 to 1. Default 0.25."`
	LowWindow int            `json:"low_window,omitzero" jsonschema:"Compound: window in packets below which it equals Reno. Default 38."`
	Lower     int            `json:"lower,omitzero" jsonschema:"Lower bound of cubic_bound's window, in packets, for all its sockets. Default: none."`
	Upper     int            `json:"upper,omitzero" jsonschema:"Upper bound of cubic_bound's window, in packets, for all its sockets. Default: none."`
}

// CongestionKind is the name of one of airtide's congestion controls.
type CongestionKind string

func (*CongestionKind) Choices() []string {
	var names []string
	for _, k := range congestion.All() {
		names = append(names, string(k))
	}
	return names
}

// parameterFields maps the fields of a file to the parameter names of package congestion.
var parameterFields = map[string]string{
	"rtt-ref": "rtt_ref", "beta": "beta", "no-hystart": "hystart", "headroom": "headroom", "gamma": "gamma",
	"gamma-low": "gamma_low", "gamma-high": "gamma_high", "lambda": "lambda", "low-window": "low_window",
}

// boundFields are the fields that only cubic_bound has.
var boundFields = []string{"lower", "upper"}

// parameters returns the parameters of the file, with the kind's defaults for missing ones.
func (c CongestionControl) parameters() congestion.Parameters {
	p := congestion.Kind(c.Kind).Defaults()
	given := func(to *float64, from float64) {
		if from != 0 {
			*to = from
		}
	}
	if c.RTTRef != 0 {
		// Larger values are refused in the same way.
		p.RTTRefUs = uint32(min(time.Duration(c.RTTRef).Microseconds(), congestion.MaxRTTRefUs+1))
	}
	given(&p.Beta, float64(c.Beta))
	if c.HyStart != nil {
		p.NoHyStart = !*c.HyStart
	}
	p.Headroom = uint32(max(c.Headroom, 0))
	given(&p.Gamma, float64(c.Gamma))
	given(&p.GammaLow, float64(c.GammaLow))
	given(&p.GammaHigh, float64(c.GammaHigh))
	if c.Lambda != nil {
		p.Lambda = float64(*c.Lambda)
	}
	if c.LowWindow != 0 {
		p.LowWindow = uint32(max(c.LowWindow, 0))
	}
	return p
}

// bounds returns the bounds of the window. Zero means no bound.
func (c CongestionControl) bounds() congestion.Bounds {
	return congestion.Bounds{Lower: uint32(max(c.Lower, 0)), Upper: uint32(max(c.Upper, 0))}
}

// CongestionSetup is a congestion control that a run needs and that the lab must load.
type CongestionSetup struct {
	// Name is the name that stacks and flows use.
	Name       string                `json:"name"`
	Kind       congestion.Kind       `json:"kind"`
	Parameters congestion.Parameters `json:"parameters"`
	// Bounds apply to all sockets of a cubic_bound.
	Bounds congestion.Bounds `json:"bounds,omitzero"`
}

// congestionControls returns the congestion controls of airtide that stacks and flows use: those
// defined in the file, and kinds with default parameters.
func (e *Experiment) congestionControls() []CongestionSetup {
	used := map[string]bool{}
	for _, t := range e.Terminals {
		used[t.Value.Congestion] = true
	}
	for _, s := range e.Servers {
		used[s.Value.Congestion] = true
	}
	for _, f := range e.Flows {
		used[f.Value.Congestion] = true
	}
	var all []CongestionSetup
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if own, ok := e.CongestionControls.Get(name); ok {
			all = append(all, CongestionSetup{name, congestion.Kind(own.Kind), own.parameters(), own.bounds()})
		} else if k := congestion.Kind(name); slices.Contains(congestion.All(), k) {
			all = append(all, CongestionSetup{name, k, k.Defaults(), congestion.Bounds{}})
		}
	}
	return all
}

// check checks a congestion control that the file defines.
func (own CongestionControl) check(c *checker, name string) {
	path := "congestion_controls." + name
	k := congestion.Kind(own.Kind)
	if slices.Contains(congestion.All(), congestion.Kind(name)) && string(k) != name {
		c.problem(path, fmt.Sprintf("%s under the name of %s", k, name), "a name that is not another kind's")
	}
	var takes []string
	for _, parameter := range k.Names() {
		takes = append(takes, parameterFields[parameter])
	}
	if k == congestion.CubicBound {
		takes = append(takes, boundFields...)
	}
	for _, field := range append(slices.Sorted(maps.Values(parameterFields)), boundFields...) {
		if c.has(path+"."+field) && !slices.Contains(takes, field) {
			c.problem(path+"."+field, fmt.Sprintf("%s for %s", field, k), "none: it takes "+document.OneOf("", takes))
			return
		}
	}
	for field, value := range map[string]int{
		"gamma": own.Gamma, "gamma_low": own.GammaLow, "gamma_high": own.GammaHigh, "headroom": own.Headroom,
		"low_window": own.LowWindow, "lower": own.Lower, "upper": own.Upper,
	} {
		if value < 0 {
			c.problem(path+"."+field, c.found(path+"."+field), "packets, 1 or more")
		}
	}
	errs := []error{own.parameters().Check(k)}
	if own.bounds() != (congestion.Bounds{}) {
		errs = append(errs, own.bounds().Check())
	}
	for _, err := range errs {
		if wrong, ok := errors.AsType[*congestion.ValueError](err); ok {
			c.problem(path, wrong.Found, wrong.Want)
		} else if err != nil {
			c.problem(path, err.Error(), "")
		}
	}
}

// congestion checks the name of a congestion control. The file or the kernel must have it.
func (c *checker) congestion(path, name string) {
	if _, own := c.e.CongestionControls.Get(name); name != "" && !own && !congestionName.MatchString(name) {
		c.problem(path, c.found(path), "the name of a congestion control, such as cubic, or one of congestion_controls")
	}
}
