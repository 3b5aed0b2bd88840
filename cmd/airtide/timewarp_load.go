package main

import (
	"github.com/spf13/cobra"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/view/terminal"
)

func newTimewarpLoad(t *terminal.Terminal) *cobra.Command {
	var module string
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Load the module and select its clock source, at ratio 1",
		Long: `Loads the module and makes the kernel keep time by its clock source, at ratio 1. Nothing changes
until airtide timewarp set. The module stays loaded until airtide timewarp unload.`,
		Example: `  airtide timewarp load
  airtide timewarp load --module ./timewarp.ko`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			left, err := timewarp.Running().Load(module)
			warnRestored(t, left)
			if err != nil {
				return err
			}
			return t.Printf("timewarp is loaded, at ratio 1, until: airtide timewarp unload\n")
		},
	}
	moduleFlag(cmd, &module)
	return cmd
}
