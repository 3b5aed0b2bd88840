package main

import "github.com/spf13/cobra"

func newCell() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cell",
		Short: "Run an emulated Wi-Fi cell by itself",
		Long: `A cell is an access point with terminals, and servers behind a wire: each a network namespace in which any program can
run, or an interface to machines outside. What they send crosses an emulated 802.11 medium and path.`,
		Example: `  airtide cell run cell.yaml      set it up, and say how to enter each machine
  airtide cell status             airtime, queues and collisions, live`,
		Args: func(_ *cobra.Command, args []string) error { return unknownVerb(args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCellRun(), newCellStatus())
	return cmd
}
