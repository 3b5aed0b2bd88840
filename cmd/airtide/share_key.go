package main

import (
	"github.com/spf13/cobra"

	"airtide/internal/share/cellkey"
	"airtide/internal/view/terminal"
)

func newShareKey(t *terminal.Terminal) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "key [-o FILE]",
		Short: "Make a key for a cell",
		Long: `Makes a key for all terminals of a cell. Whoever has it can read their messages and take part.
Protect it like the password of the Wi-Fi.`,
		Example: `  airtide share key -o cell.key     a file that only you can read
  airtide share key                 to standard output`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k := cellkey.New()
			if path == "" {
				return t.Print([]byte(k.Text() + "\n")) // never broken
			}
			return cellkey.Create(path, k)
		},
	}
	cmd.Flags().StringVarP(&path, "output", "o", "", "file to write; it must not exist yet")
	return cmd
}
