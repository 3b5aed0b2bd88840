package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/lab/report"
	"airtide/internal/lab/show"
	"airtide/internal/view/terminal"
)

func newLabCompare(t *terminal.Terminal) *cobra.Command {
	var (
		root   resultsFlag
		asJSON jsonFlag
		asCSV  bool
	)
	cmd := &cobra.Command{
		Use:   "compare RESULT RESULT...",
		Short: "Compare results with the first of them",
		Long: `Prints for each measurement at each common point: the difference to the first result with its 95 %
bootstrap interval, the ratio, and whether the difference is significant.`,
		Example: `  airtide lab compare results/my/20260131-120000 results/my/20260201-090000`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError{fmt.Errorf("at least two results are needed")}
			}
			return nil
		},
		ValidArgsFunction: completeResults,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notBoth(bool(asJSON), asCSV); err != nil {
				return err
			}
			begun := time.Now()
			var reports []*report.Report
			for _, arg := range args {
				dir, err := root.find(arg)
				if err != nil {
					return err
				}
				r, err := readResult(cmd.Context(), t, begun, dir)
				if err != nil {
					return err
				}
				reports = append(reports, r)
			}
			var c *report.Comparison
			err := withProgress(t, begun, "comparing", func(p report.Progress) (err error) {
				c, err = report.Compare(cmd.Context(), p, reports...)
				return err
			})
			if err != nil {
				return err
			}
			out := t.Out
			switch {
			case bool(asJSON):
				return show.WriteJSON(out, c)
			case asCSV:
				return show.WriteComparisonCSV(out, c)
			}
			return show.WriteComparison(out, c, show.TextOptions{Colour: t.Colour})
		},
	}
	root.register(cmd)
	asJSON.register(cmd.Flags(), "print as JSON")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print as CSV")
	return cmd
}
