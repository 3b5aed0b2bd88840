package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/lab/show"
	"airtide/internal/view/terminal"
)

func newLabList(t *terminal.Terminal) *cobra.Command {
	var (
		root   resultsFlag
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the experiments that come with airtide, and existing results",
		Example: `  airtide lab list
  airtide lab list -o /data/results
  airtide lab list --json | jq -r '.results[] | select(.finished < .runs).dir'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			type experiment struct {
				Name   string `json:"name"`
				Title  string `json:"title"`
				Source string `json:"source"`
				Points int    `json:"points"`
				Runs   int    `json:"runs"`
				TimeS  int    `json:"time_s"`
			}
			var list struct {
				Experiments []experiment   `json:"experiments"`
				Results     []result.Entry `json:"results"`
			}
			for _, name := range plan.Experiments() {
				p, err := plan.Open(cmd.Context(), name)
				if err != nil {
					return err
				}
				e := p.Experiment
				list.Experiments = append(list.Experiments, experiment{
					name, e.Title, e.Source, len(p.Points), len(p.Runs),
					int(p.Time(plan.Overhead).Round(time.Second).Seconds()),
				})
			}
			var err error
			list.Results, err = result.List(cmd.Context(), string(root))
			if err != nil {
				return err
			}
			if asJSON {
				return t.JSON(list)
			}
			table := &terminal.Table{Columns: []terminal.Column{
				{Title: "EXPERIMENT"},
				{Title: "TITLE", Least: 10},
				{Title: "RUNS", Right: true, Optional: 1},
				{Title: "TIME", Right: true, Optional: 2},
				{Title: "SOURCE", Optional: 3},
			}}
			for _, e := range list.Experiments {
				table.Add(e.Name, e.Title, fmt.Sprint(e.Runs), short(e.TimeS), e.Source)
			}
			if err := t.Table(table); err != nil || len(list.Results) == 0 {
				return err
			}
			if err := t.Printf("\n"); err != nil {
				return err
			}
			return show.WriteList(t.Out, list.Results, show.TextOptions{Colour: t.Colour, Width: t.Width})
		},
	}
	root.register(cmd)
	asJSON.register(cmd.Flags(), "print as JSON")
	return cmd
}

// short prints a time in seconds as seconds or minutes.
func short(s int) string {
	if s < 120 {
		return fmt.Sprintf("%d s", s)
	}
	return fmt.Sprintf("%d min", (s+30)/60)
}
