package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"airtide/internal/share/cellkey"
)

func newShare() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "share",
		Short: "Share one access point fairly and fast with other terminals",
		Long: `Terminals on one access point tell each other what they reach and deliver, and each keeps its congestion windows to its share
of the airtime and of the wire. All of them have the same key.

docs/design/sharing.md tells how shares are found, and docs/reference/share-messages.md what is said.`,
		Example: `  airtide share key -o cell.key                 once; give it to every terminal
  airtide share run --key cell.key --interface wlan0
  airtide share status --watch                  how the agents on this machine are doing`,
		Args: func(_ *cobra.Command, args []string) error { return unknownVerb(args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newShareRun(), newShareStatus(), newShareHub(), newShareKey())
	return cmd
}

// errNoKey is what run and hub cannot do without.
var errNoKey = misuse{errors.New("--key FILE is missing: the cell's key (airtide share key -o FILE makes one)")}

func newShareKey() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "key [-o FILE]",
		Short: "Make a key of a cell",
		Long: `Makes a key that all terminals of a cell are given. Who has it can read what they say and take part; keep it as you keep the
password of the Wi-Fi.`,
		Example: `  airtide share key -o cell.key     a file that only you can read
  airtide share key                 to standard output`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			k := cellkey.New()
			if path == "" {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), k.Text())
				return err
			}
			return cellkey.Create(path, k)
		},
	}
	cmd.Flags().StringVarP(&path, "output", "o", "", "the file to write; it may not be there yet")
	return cmd
}
