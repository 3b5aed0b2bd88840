package main

import (
	"errors"

	"github.com/spf13/cobra"

	"airtide/internal/share/cellkey"
	"airtide/internal/view/terminal"
)

func newShareKey(t *terminal.Terminal) *cobra.Command {
	var path, rotate, retire string
	cmd := &cobra.Command{
		Use:   "key [-o FILE | --rotate FILE | --retire FILE]",
		Short: "Make, rotate or retire the key of a cell",
		Long: `Makes a key for all terminals of a cell. Whoever has it can read their messages and take part.
Protect it like the password of the Wi-Fi.

--rotate puts a new key before the one in a file. Copy the file to all terminals and hubs of the
cell, one after the other and within any time: agents read it within a second, and share with those
that have only the old key. When all have both, --retire removes the old key from the file. Copy it
to all again. Transfers go on all the time.`,
		Example: `  airtide share key -o cell.key          a file that only you can read
  airtide share key                      to standard output
  airtide share key --rotate cell.key    a new key beside the old one
  airtide share key --retire cell.key    the new key alone`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := 0
			for _, f := range []string{path, rotate, retire} {
				if f != "" {
					given++
				}
			}
			if given > 1 {
				return usageError{errors.New("give one of -o, --rotate and --retire")}
			}
			switch {
			case rotate != "":
				p, err := cellkey.Rotate(rotate)
				if err != nil {
					return err
				}
				t.Notef("%s has the keys of cells %s (new) and %s (old): copy it to all terminals, then --retire",
					rotate, p.New.Tag(), p.Old.Tag())
				return nil
			case retire != "":
				p, err := cellkey.Retire(retire)
				if err != nil {
					return err
				}
				t.Notef("%s has the key of cell %s alone: copy it to all terminals", retire, p.New.Tag())
				return nil
			}
			k := cellkey.New()
			if path == "" {
				return t.Print([]byte(k.Text() + "\n")) // never broken
			}
			return cellkey.Create(path, k)
		},
	}
	cmd.Flags().StringVarP(&path, "output", "o", "", "file to write; it must not exist yet")
	cmd.Flags().StringVar(&rotate, "rotate", "", "key file to put a new key into, beside the old one")
	cmd.Flags().StringVar(&retire, "retire", "", "key file to remove the old key from")
	return cmd
}
