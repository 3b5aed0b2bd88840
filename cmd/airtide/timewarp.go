package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/timewarp"
)

func newTimewarp() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "timewarp",
		Short: "Make the kernel's clock run N times as fast",
		Long: `Makes the clock of this kernel run N times as fast as real time, or slower: a day of an app's behaviour passes in some
hours. It is done by a kernel module, which is built here from sources in this binary. All that the kernel and its programs
time follows: sleeps, timeouts, TCP. The network around does not, so TCP sees round trips that are N times as long.

Once loaded it lasts until it is unloaded, which restores the clock source and sets the date back by what it went ahead.
docs/guide/timewarp.md tells what is warped and what stays real.`,
		Example: `  airtide timewarp build                     build the module for this kernel
  airtide timewarp run -N 10 -- curl -O http://192.0.2.1/file
  airtide timewarp load
  airtide timewarp set 5/2
  airtide timewarp status
  airtide timewarp unload`,
		Args: func(_ *cobra.Command, args []string) error { return unknownVerb(args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newTimewarpBuild(), newTimewarpLoad(), newTimewarpSet(), newTimewarpStatus(), newTimewarpUnload(), newTimewarpRun(), newTimewarpGuard())
	return cmd
}

func moduleFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "module", "", "the module's file (default: the one that was built for this kernel, or DKMS's)")
	_ = cmd.MarkFlagFilename("module", "ko", "xz", "zst")
}

// ratioOf reads N as the user gave it.
func ratioOf(text string) (timewarp.Ratio, error) {
	r, err := timewarp.ParseRatio(text)
	if err != nil {
		return r, misuse{err}
	}
	return r, nil
}

func sayLeft(u *timewarp.Undone) {
	if u != nil {
		fmt.Fprintf(os.Stderr, "airtide: what a killed process left was taken back first: %s\n", undoneText(u))
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

func newTimewarpLoad() *cobra.Command {
	var module string
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Load the module and select its clock source, at ratio 1",
		Long: `Loads the module and makes the kernel keep time by its clock source, at ratio 1: nothing changes until set does. It lasts
until unload.`,
		Example: `  airtide timewarp load
  airtide timewarp load --module ./timewarp.ko`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			left, err := timewarp.Running().Load(module)
			sayLeft(left)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "timewarp is loaded, at ratio 1, until: airtide timewarp unload")
			return err
		},
	}
	moduleFlag(cmd, &module)
	return cmd
}

// tcpFlags say how TCP follows N.
func tcpFlags(cmd *cobra.Command, rto *string, scaledCubic *bool) {
	cmd.Flags().StringVar(rto, "rto", string(timewarp.RTOBounds), "how TCP's retransmission timeout follows N: bounds (its least and first values), paper (all of it), none")
	cmd.Flags().BoolVar(scaledCubic, "scaled-cubic", false, "new connections of this network namespace use a CUBIC that grows by real time (Linux 6.4)")
	var ways []string
	for _, r := range timewarp.RTOs {
		ways = append(ways, string(r))
	}
	_ = cmd.RegisterFlagCompletionFunc("rto", cobra.FixedCompletions(ways, cobra.ShellCompDirectiveNoFileComp))
}

// tcpOf reads how TCP follows N as the user gave it.
func tcpOf(rto string, scaledCubic bool) (timewarp.TCP, error) {
	r, err := timewarp.ParseRTO(rto)
	if err == nil && rto == "" {
		err = errors.New("--rto: want bounds, paper or none")
	}
	if err != nil {
		return timewarp.TCP{}, misuse{err}
	}
	return timewarp.TCP{RTO: r, ScaledCubic: scaledCubic}, nil
}

func newTimewarpSet() *cobra.Command {
	var (
		rto         string
		scaledCubic bool
	)
	cmd := &cobra.Command{
		Use:   "set N",
		Short: "Set how many times as fast as real time the clock runs",
		Long: `Sets N: a whole number, a fraction or a decimal number from 1/10 to 1000. It may be changed at any time; the clock never
goes back. How TCP follows is said with each N anew, and ends when N is 1 again.`,
		Example: `  airtide timewarp set 10
  airtide timewarp set 5/2 --rto none
  airtide timewarp set 10 --scaled-cubic`,
		Args: exactArgs("N"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := ratioOf(args[0])
			if err != nil {
				return err
			}
			tcp, err := tcpOf(rto, scaledCubic)
			if err != nil {
				return err
			}
			c, err := timewarp.Running().Set(r, tcp)
			sayLeft(c.Left)
			if err != nil {
				return err
			}
			for _, lack := range c.Lacks {
				fmt.Fprintf(os.Stderr, "airtide: not done: %s\n", lack)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "ratio %s\n", r)
			return err
		},
	}
	tcpFlags(cmd, &rto, &scaledCubic)
	return cmd
}

func newTimewarpStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the ratio, the clock source, and since when",
		Example: `  airtide timewarp status
  airtide timewarp status --json | jq .ratio`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := timewarp.Running().Status()
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(s)
			}
			return s.WriteText(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a line of JSON")
	return cmd
}

func newTimewarpUnload() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "unload",
		Short: "Restore the clock source and unload the module",
		Long: `Sets N to 1, restores the clock source that was there before, unloads the module and sets the date back by what it went
ahead (unless NTP keeps it). What a killed process left is taken back too.`,
		Example: `  airtide timewarp unload`,
		Args:    exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := timewarp.Running().Unload()
			if errors.Is(err, timewarp.ErrNothing) && !asJSON {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), "timewarp is not loaded: there is nothing to take back")
				return err
			}
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(u)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "timewarp is unloaded: %s\n", undoneText(u))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a line of JSON")
	return cmd
}
