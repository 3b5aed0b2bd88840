package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/congestion/kind"
	"airtide/internal/kernel/timewarp"
	"airtide/internal/units"
)

// ccParameters are the flags that set parameters. A missing flag changes nothing.
type ccParameters struct {
	congestion.Parameters
	rttRef    time.Duration
	timeRatio string
}

// ccParameterFlags are the names of the flags.
var ccParameterFlags = []string{
	"rtt-ref",
	"beta",
	"no-hystart",
	"headroom",
	"gamma",
	"gamma-low",
	"gamma-high",
	"lambda",
	"low-window",
}

func (p *ccParameters) define(fl *pflag.FlagSet) {
	durationVar(fl, &p.rttRef, "rtt-ref", "", 0,
		"RTT at which it equals CUBIC, 1 ms to 10 s (default 200 ms for cubic_rtt, 1 s for cubic_rttk)")
	fl.Var(units.NumberFlag(&p.Beta), "beta",
		"CUBIC: share of the window that remains after a loss (default 0.7, the kernel's 717/1024)")
	fl.BoolVar(&p.NoHyStart, "no-hystart", false, "CUBIC: slow start lasts until the first loss")
	fl.Uint32Var(&p.Headroom, "headroom", 0, "cubic_plain: its window grows only while it is at most so many "+
		"packets larger than what was in flight, as kernels before 3.16 did with 3")
	fl.StringVar(&p.timeRatio, "time-ratio", "",
		"CUBIC: speed of this kernel's clock relative to real time: N or P/Q (default 1)")
	fl.Var(units.NumberFlag(&p.Gamma), "gamma",
		"Compound: initial number of packets that may wait in the path (default 30)")
	fl.Var(units.NumberFlag(&p.GammaLow), "gamma-low", "Compound: smallest gamma (default 5)")
	fl.Var(units.NumberFlag(&p.GammaHigh), "gamma-high", "Compound: largest gamma (default 30)")
	fl.Var(units.NumberFlag(&p.Lambda), "lambda", "Compound: weight of a new gamma, 0 to 1 (default 0.25)")
	fl.Uint32Var(&p.LowWindow, "low-window", 0, "Compound: window in packets below which it equals Reno (default 38)")
}

// of returns the parameters of a kind: its defaults, changed by the given flags.
func (p *ccParameters) of(cmd *cobra.Command, k congestion.Kind) (congestion.Parameters, error) {
	out := k.Defaults()
	for _, name := range ccParameterFlags {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if !slices.Contains(k.Names(), name) {
			return out, fmt.Errorf("%s has no --%s: it has --%s", k, name, strings.Join(k.Names(), ", --"))
		}
		switch name {
		case "rtt-ref":
			if p.rttRef < kind.MinRTTRefUs*time.Microsecond || p.rttRef > kind.MaxRTTRefUs*time.Microsecond {
				return out, fmt.Errorf("--rtt-ref %s: want 1 ms to 10 s", units.Duration(p.rttRef))
			}
			out.RTTRefUs = uint32(p.rttRef.Microseconds())
		case "beta":
			out.Beta = p.Beta
		case "no-hystart":
			out.NoHyStart = p.NoHyStart
		case "headroom":
			out.Headroom = p.Headroom
		case "gamma":
			out.Gamma = p.Gamma
		case "gamma-low":
			out.GammaLow = p.GammaLow
		case "gamma-high":
			out.GammaHigh = p.GammaHigh
		case "lambda":
			out.Lambda = p.Lambda
		case "low-window":
			out.LowWindow = p.LowWindow
		}
	}
	if cmd.Flags().Changed("time-ratio") {
		r, err := timewarp.ParseRatio(p.timeRatio)
		if err != nil {
			return out, fmt.Errorf("--time-ratio: %w", err)
		}
		out.TimeNum = r.Num
		out.TimeDen = r.Den
	}
	return out, out.Check(k)
}
