package main

import (
	"github.com/spf13/cobra"

	"airtide/internal/view/terminal"
)

func newCell(t *terminal.Terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cell",
		Short: "Run an emulated Wi-Fi cell by itself",
		Long: `A cell is an access point with terminals, and servers behind a wire. Each terminal and server is a
network namespace in which any program can run, or an interface to a machine outside. Their packets
cross an emulated 802.11 medium and path.`,
		Example: `  airtide cell check cell.yaml    check the file
  airtide cell run cell.yaml      set up a cell and print how to enter it
  airtide cell status             airtime, queues and collisions, live`,
	}
	return group(cmd, newCellCheck(t), newCellRun(t), newCellStatus(t))
}
