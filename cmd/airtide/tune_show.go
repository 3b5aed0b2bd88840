package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/tune"
)

// tuneList is the JSON of all that is in force.
type tuneList struct {
	Tunes []tune.Report `json:"tunes"`
}

func newTuneShow() *cobra.Command {
	var (
		bpffs  string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show what is in force, by whom, and on how many sockets",
		Long:  `Reads from the kernel which tunes are in force, what each socket has now, and who set it. What killed processes left is shown too.`,
		Example: `  airtide tune show
  airtide tune show --json | jq '.tunes[] | {id, counts}'`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := tuneList{Tunes: []tune.Report{}}
			err := patiently("reading sockets", func() error {
				reports, err := tune.Show(cmd.Context(), bpffs)
				list.Tunes = append(list.Tunes, reports...)
				return err
			})
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return printJSON(out, list)
			}
			if len(list.Tunes) == 0 {
				_, err = fmt.Fprintln(out, "nothing is tuned")
			}
			for i := range list.Tunes {
				r := &list.Tunes[i]
				err = errors.Join(err, r.WriteText(out))
				fmt.Fprintf(out, "  %s; begun %s\n", r.State(), r.Begun.Format("2006-01-02 15:04:05"))
			}
			return err
		},
	}
	bpffsFlag(cmd, &bpffs)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with all sockets")
	return cmd
}

func newTuneUndo() *cobra.Command {
	var (
		bpffs           string
		asJSON, running bool
	)
	cmd := &cobra.Command{
		Use:   "undo [ID ...]",
		Short: "Take back what was kept, and what killed processes have left",
		Long: `Brings sockets back to what they were: of the tunes that are named, or of all that were kept or left by killed processes;
with --running of those too whose processes are running.`,
		Example: `  airtide tune undo
  airtide tune undo 5f3a91c2`,
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
			reports, _ := tune.Show(cmd.Context(), bpffs)
			for _, r := range reports {
				ids = append(ids, r.ID+"\t"+r.Settings.String())
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, ids []string) error {
			if running && len(ids) > 0 {
				return misuse{errors.New("--running goes with no ID")}
			}
			done := []tune.Undone{}
			err := patiently("taking back", func() error {
				if len(ids) == 0 {
					all, err := tune.UndoAll(cmd.Context(), bpffs, running)
					done = append(done, all...)
					return err
				}
				for _, id := range ids {
					u, err := tune.Undo(cmd.Context(), bpffs, id)
					if err != nil {
						return err
					}
					done = append(done, *u)
				}
				return nil
			})
			out := cmd.OutOrStdout()
			if asJSON {
				return errors.Join(err, json.NewEncoder(out).Encode(map[string]any{"undone": done}))
			}
			for _, u := range done {
				err = errors.Join(err, printUndone(out, u))
			}
			if err == nil && len(done) == 0 {
				_, err = fmt.Fprintln(out, "there is nothing to undo")
			}
			return err
		},
	}
	bpffsFlag(cmd, &bpffs)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a line of JSON")
	cmd.Flags().BoolVar(&running, "running", false, "those of running processes too")
	return cmd
}
