package main

import (
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"airtide/experiments"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/lab/show"
)

func newLabList() *cobra.Command {
	var (
		root   string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the experiments that come with airtide, and the results there are",
		Example: `  airtide lab list
  airtide lab list -o /data/results
  airtide lab list --json | jq -r '.results[] | select(.finished < .runs) | .dir'`,
		Args: exactArgs(),
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
			for _, name := range experiments.Names() {
				p, err := readPlan(name)
				if err != nil {
					return err
				}
				e := p.Experiment
				list.Experiments = append(list.Experiments, experiment{
					name, e.Title, e.Source, len(p.Points), len(p.Runs), int(p.Estimate(p.Runs, plan.Overhead).Seconds()),
				})
			}
			var err error
			if list.Results, err = result.List(root); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return printJSON(out, list)
			}
			w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "EXPERIMENT\tRUNS\tTIME\tSOURCE\tTITLE")
			for _, e := range list.Experiments {
				fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", e.Name, e.Runs, short(e.TimeS), e.Source, e.Title)
			}
			if err := w.Flush(); err != nil || len(list.Results) == 0 {
				return err
			}
			fmt.Fprintln(out)
			return show.WriteList(out, list.Results, show.TextOptions{Colour: useColor(os.Stdout)})
		},
	}
	resultsFlag(cmd, &root)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// short prints seconds as people say them.
func short(s int) string {
	if s < 120 {
		return fmt.Sprintf("%d s", s)
	}
	return fmt.Sprintf("%d min", (s+30)/60)
}
