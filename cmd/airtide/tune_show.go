package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/tune"
	"airtide/internal/view/terminal"
)

// tuneList is the JSON of the tunes in force.
type tuneList struct {
	Tunes []tune.Report `json:"tunes"`
}

func newTuneShow(t *terminal.Terminal) *cobra.Command {
	var (
		bpffs  bpffsFlag
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the tunes in force, their processes and sockets",
		Long: `Reads from the kernel which tunes are in force, the values of each socket and the process that set
them. The tunes of killed processes are shown, too.`,
		Example: `  airtide tune show
  airtide tune show --json | jq '.tunes[] | {id, counts}'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := tuneList{Tunes: []tune.Report{}}
			err := t.WaitFor("reading sockets", func() error {
				reports, err := tune.Show(cmd.Context(), string(bpffs))
				list.Tunes = append(list.Tunes, reports...)
				return err
			})
			if err != nil {
				return err
			}
			if asJSON {
				return t.JSON(list)
			}
			var b strings.Builder
			if len(list.Tunes) == 0 {
				b.WriteString("nothing is tuned\n")
			}
			for i := range list.Tunes {
				r := &list.Tunes[i]
				err = errors.Join(err, r.WriteText(&b))
				fmt.Fprintf(&b, "  %s; begun %s\n", r.State(), r.Begun.Format("2006-01-02 15:04:05"))
			}
			if err != nil {
				return err
			}
			return t.PrintWrapped(b.String(), 4)
		},
	}
	bpffs.register(cmd.Flags())
	asJSON.register(cmd.Flags(), "print JSON, with all sockets")
	return cmd
}
