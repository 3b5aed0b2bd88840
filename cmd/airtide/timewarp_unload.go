package main

import (
	"errors"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/view/terminal"
)

func newTimewarpUnload(t *terminal.Terminal) *cobra.Command {
	var asJSON jsonFlag
	cmd := &cobra.Command{
		Use:   "unload",
		Short: "Restore the clock source and unload the module",
		Long: `Sets N to 1, restores the previous clock source, unloads the module and sets the date back by the
time gained (unless NTP keeps the date). The changes of a killed process are undone, too.`,
		Example: `  airtide timewarp unload`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := timewarp.Running().Unload()
			if errors.Is(err, timewarp.ErrNothing) && !bool(asJSON) {
				return t.Printf("timewarp is not loaded: there is nothing to undo\n")
			}
			if err != nil {
				return err
			}
			if asJSON {
				return t.JSONLine(u)
			}
			return t.Printf("timewarp is unloaded: %s\n", undoneText(u))
		},
	}
	asJSON.register(cmd.Flags(), "print the result as a line of JSON")
	return cmd
}
