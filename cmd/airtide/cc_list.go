package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/congestion"
	"airtide/internal/view/terminal"
)

// ccList is the JSON of all that are loaded.
type ccList struct {
	Loaded []congestion.Entry `json:"loaded"`
	Others []string           `json:"others"`
}

func newCCList(t *terminal.Terminal) *cobra.Command {
	var (
		bpffs  bpffsFlag
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the congestion controls that airtide loaded, and the others of this kernel",
		Example: `  airtide cc list
  airtide cc list --json | jq '.loaded[] | {name, sockets, parameters}'`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			list := ccList{Loaded: []congestion.Entry{}, Others: []string{}}
			available, err := congestion.Available()
			if err != nil {
				return err
			}
			loaded, err := congestion.List(string(bpffs))
			if err != nil {
				return err
			}
			list.Loaded = append(list.Loaded, loaded...)
			for _, name := range available {
				if !slices.ContainsFunc(loaded, func(e congestion.Entry) bool { return e.Name == name }) {
					list.Others = append(list.Others, name)
				}
			}
			if asJSON {
				return t.JSON(list)
			}
			table := &terminal.Table{Columns: []terminal.Column{
				{Title: "NAME"},
				{Title: "KIND", Optional: 2},
				{Title: "SOCKETS", Right: true, Optional: 1},
				{Title: "UNTIL", Optional: 3},
				{Title: "PARAMETERS", Least: 12},
			}}
			for _, e := range list.Loaded {
				until := "unloaded"
				if e.Pin == "" {
					until = fmt.Sprintf("process %s ends", strings.Trim(fmt.Sprint(e.Processes), "[]"))
				}
				table.Add(e.Name, string(e.Kind), fmt.Sprint(e.Sockets), until, e.Parameters.String())
			}
			if err := t.Table(table); err != nil {
				return err
			}
			return t.Printf("not loaded by airtide: %s\n", strings.Join(list.Others, " "))
		},
	}
	bpffs.register(cmd.Flags())
	asJSON.register(cmd.Flags(), "print JSON")
	return cmd
}
