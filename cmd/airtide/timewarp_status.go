package main

import (
	"github.com/spf13/cobra"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/view/terminal"
)

func newTimewarpStatus(t *terminal.Terminal) *cobra.Command {
	var asJSON jsonFlag
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the ratio, the clock source and their start",
		Example: `  airtide timewarp status
  airtide timewarp status --json | jq .ratio`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := timewarp.Running().Status()
			if err != nil {
				return err
			}
			if asJSON {
				return t.JSONLine(s)
			}
			return s.WriteText(t.Out)
		},
	}
	asJSON.register(cmd.Flags(), "print the result as a line of JSON")
	return cmd
}
