package main

import (
	"errors"

	"github.com/spf13/cobra"

	"airtide/internal/lab/plan"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

func newCellCheck(t *terminal.Terminal) *cobra.Command {
	var asJSON jsonFlag
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Check the files of cells",
		Long: `Checks the files of cells without setting anything up. Each problem names file, line and column, the
text found and what was expected. The exit status is 1 if there is a problem. A file needs no flows;
those of an experiment are ignored, as by airtide cell run (airtide lab check checks all of it).`,
		Example: `  airtide cell check cell.yaml
  airtide cell check cell.yaml --json | jq -r '.[].problems[]'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("missing argument FILE")}
			}
			return nil
		},
		ValidArgsFunction: completeExperiment,
		RunE: func(_ *cobra.Command, args []string) error {
			return printChecks(t, args, bool(asJSON), func(arg string) (any, string, error) {
				c := checkedCell{File: arg, Problems: []string{}}
				f, err := plan.OpenCell(arg)
				if err != nil {
					c.Problems = problems(err)
					return c, "", err
				}
				c.Terminals = len(f.Setup.Terminals)
				c.Servers = len(f.Setup.Servers)
				return c, units.Count(c.Terminals, "terminal") + ", " + units.Count(c.Servers, "server"), nil
			})
		},
	}
	asJSON.register(cmd.Flags(), "print as JSON")
	return cmd
}

// checkedCell is the JSON of a file that was checked.
type checkedCell struct {
	File      string   `json:"file"`
	Terminals int      `json:"terminals"`
	Servers   int      `json:"servers"`
	Problems  []string `json:"problems"`
}
