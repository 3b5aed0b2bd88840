package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/tune"
	"airtide/internal/view/terminal"
)

func newTuneUndo(t *terminal.Terminal) *cobra.Command {
	var (
		bpffs   bpffsFlag
		asJSON  jsonFlag
		running bool
	)
	cmd := &cobra.Command{
		Use:   "undo [ID ...]",
		Short: "Undo tunes that were kept, and those of killed processes",
		Long: `Restores the sockets of the named tunes, or of all tunes that were kept or whose process was killed.
With --running it also undoes the tunes of running processes.`,
		Example: `  airtide tune undo
  airtide tune undo 5f3a91c2`,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
			reports, _ := tune.Show(cmd.Context(), string(bpffs))
			for _, r := range reports {
				ids = append(ids, r.ID+"\t"+r.Settings.String())
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, ids []string) error {
			if running && len(ids) > 0 {
				return usageError{errors.New("--running and an ID: give one of them")}
			}
			done := []tune.Undone{}
			err := t.WaitFor("undoing", func() error {
				if len(ids) == 0 {
					all, err := tune.UndoAll(cmd.Context(), string(bpffs), running)
					done = append(done, all...)
					return err
				}
				for _, id := range ids {
					u, err := tune.Undo(cmd.Context(), string(bpffs), id)
					if err != nil {
						return err
					}
					done = append(done, *u)
				}
				return nil
			})
			out := t.Out
			if asJSON {
				return errors.Join(err, t.JSONLine(map[string]any{"undone": done}))
			}
			for _, u := range done {
				err = errors.Join(err, u.WriteText(out))
			}
			if err == nil && len(done) == 0 {
				_, err = fmt.Fprintln(out, "there is nothing to undo")
			}
			return err
		},
	}
	bpffs.register(cmd.Flags())
	asJSON.register(cmd.Flags(), "print the result as a line of JSON")
	cmd.Flags().BoolVar(&running, "running", false, "also undo tunes of running processes")
	return cmd
}
