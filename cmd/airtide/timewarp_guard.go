package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/timewarp"
)

// guardVerb is what run starts this program with, for when it is killed. No user needs it.
const guardVerb = "guard"

func newTimewarpGuard() *cobra.Command {
	return &cobra.Command{
		Use:    guardVerb,
		Short:  "Take back what a killed run has left, at the end of standard input",
		Hidden: true,
		Args:   exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			// What ends run ends this one too, but later.
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
			u, err := timewarp.Running().Guard(os.Stdin)
			if u != nil {
				fmt.Fprintf(os.Stderr, "airtide: run was killed, and what it left was taken back: %s\n", undoneText(u))
			}
			return err
		},
	}
}
