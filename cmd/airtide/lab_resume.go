package main

import (
	"github.com/spf13/cobra"

	"airtide/internal/lab/plan"
	lab "airtide/internal/lab/run"
	"airtide/internal/view/terminal"
)

func newLabResume(t *terminal.Terminal) *cobra.Command {
	var (
		root resultsFlag
		file string
		f    labFlags
	)
	cmd := &cobra.Command{
		Use:   "resume RESULT",
		Short: "Run the missing runs of a result",
		Long: `Runs the runs of a result that were not finished, or failed. With --file the experiment may have
changed, as long as the finished runs fit it: more repeats, more values of a sweep, other claims or
figures.`,
		Example: `  airtide lab resume quickstart
  airtide lab resume results/my/20260131-120000 --file my.yaml`,
		Args:              exactArgs("RESULT"),
		ValidArgsFunction: completeResult,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := root.find(args[0])
			if err != nil {
				return err
			}
			var changed *plan.Plan // nil keeps the experiment as it was
			if file != "" {
				changed, err = plan.Open(cmd.Context(), file)
				if err != nil {
					return err
				}
			}
			return f.run(cmd.Context(), t, func(o lab.Options) (*lab.Outcome, error) {
				return lab.Resume(cmd.Context(), dir, changed, o)
			})
		},
	}
	root.register(cmd)
	f.register(cmd)
	cmd.Flags().StringVar(&file, "file", "", "changed file of the experiment (default: the file as it was)")
	return cmd
}
