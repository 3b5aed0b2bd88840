package main

import (
	"errors"

	"github.com/spf13/cobra"

	"airtide/internal/view/terminal"
)

func newShare(t *terminal.Terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "share",
		Short: "Share one access point fairly and fast with other terminals",
		Long: `Terminals on one access point report to each other the rates that they reach alone and that they
deliver. Each terminal keeps its congestion windows within its share of the airtime and of the wire.
All of them have the same key.

airtide help services says how to run it at each boot, and how to stop it.`,
		Example: `  airtide share key -o cell.key                 once; give it to every terminal
  airtide share run --key cell.key --interface wlan0
  airtide share status --watch                  the state of the agents here`,
	}
	return group(cmd, newShareRun(t), newShareStatus(t), newShareHub(t), newShareKey(t))
}

// errNoKey is the mistake of running an agent or a hub without a key.
var errNoKey = usageError{errors.New("--key FILE is missing: the cell's key (airtide share key -o FILE makes one)")}
