package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/view/terminal"
)

func newTimewarp(t *terminal.Terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "timewarp",
		Short: "Make the kernel's clock run N times as fast",
		Long: `Makes the clock of this kernel run N times as fast as real time, or slower: a day of an app passes
in some hours. A kernel module does it, which is built from sources in this binary. All timing of
the kernel and its programs follows: sleeps, timeouts, TCP. The network outside does not follow, so
TCP sees round trips that are N times as long.

The module stays loaded until unload, which restores the clock source and sets the date back by the
time gained. share/doc/airtide/guide/timewarp.md describes
what follows the clock and what stays real.`,
		Example: `  airtide timewarp build                     build the module for this kernel
  airtide timewarp run -N 10 -- curl -O http://192.0.2.1/file
  airtide timewarp load
  airtide timewarp set 5/2
  airtide timewarp status
  airtide timewarp unload`,
	}
	return group(cmd, newTimewarpBuild(t), newTimewarpLoad(t), newTimewarpSet(t), newTimewarpStatus(t),
		newTimewarpUnload(t), newTimewarpRun(t), newTimewarpGuard(t))
}

func moduleFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().
		StringVar(path, "module", "", "file of the module (default: the module built for this kernel, or by DKMS)")
	_ = cmd.MarkFlagFilename("module", "ko", "xz", "zst")
}

// ratioOf reads the ratio N.
func ratioOf(text string) (timewarp.Ratio, error) {
	r, err := timewarp.ParseRatio(text)
	if err != nil {
		return r, usageError{err}
	}
	return r, nil
}

// Warnings about a killed process. scripts/test-timewarp expects them.
const (
	restoredFirst = "restored the clock after a killed process first"
	runWasKilled  = "run was killed, and its changes were undone"
)

// warnRestored reports that the changes of a killed process were undone first.
func warnRestored(t *terminal.Terminal, u *timewarp.Undone) {
	if u != nil {
		t.Warnf("%s: %s", restoredFirst, undoneText(u))
	}
}

func undoneText(u *timewarp.Undone) string {
	text := "the clock source is " + u.ClockSource
	ahead := time.Duration(u.AheadNs).Round(time.Millisecond)
	if ahead == 0 {
		return text
	}
	if u.DateSet {
		return fmt.Sprintf("%s, and the date was set back by %s", text, ahead)
	}
	return fmt.Sprintf("%s; the clock went ahead by %s, and the date is left to NTP", text, ahead)
}

// followFlags choose how TCP follows the clock.
type followFlags struct {
	rto         string
	scaledCubic bool
}

func (f *followFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.rto, "rto", string(timewarp.RTOBounds), "how the retransmission timeout follows N: "+
		"bounds (its minimum and initial value), paper (every value), none")
	fl.BoolVar(&f.scaledCubic, "scaled-cubic", false,
		"new connections of this network namespace use a CUBIC that grows by real time (Linux 6.4)")
	var ways []string
	for _, r := range timewarp.RTOs {
		ways = append(ways, string(r))
	}
	fixed(cmd, "rto", ways...)
}

func (f *followFlags) tcp() (timewarp.TCP, error) {
	r, err := timewarp.ParseRTO(f.rto)
	if err == nil && f.rto == "" {
		err = errors.New("--rto: want bounds, paper or none")
	}
	if err != nil {
		return timewarp.TCP{}, usageError{err}
	}
	return timewarp.TCP{RTO: r, ScaledCubic: f.scaledCubic}, nil
}
