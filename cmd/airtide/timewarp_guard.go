package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/view/terminal"
)

// guardVerb is the hidden verb with which run starts its guard. The guard restores the clock if run
// is killed.
const guardVerb = "guard"

func newTimewarpGuard(t *terminal.Terminal) *cobra.Command {
	return &cobra.Command{
		Use:    guardVerb,
		Short:  "Restore the clock after a killed run, at the end of standard input",
		Hidden: true,
		Args:   noArgs,
		RunE: func(*cobra.Command, []string) error {
			// The signals that end run must not end its guard.
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
			u, err := timewarp.Running().Guard(os.Stdin)
			if u != nil {
				t.Warnf("%s: %s", runWasKilled, undoneText(u))
			}
			return err
		},
	}
}
