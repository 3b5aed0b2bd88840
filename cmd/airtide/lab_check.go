package main

import (
	"fmt"

	"airtide/internal/view/terminal"

	"github.com/spf13/cobra"

	"airtide/internal/lab/plan"
)

func newLabCheck(t *terminal.Terminal) *cobra.Command {
	var (
		asJSON jsonFlag
		schema bool
	)
	cmd := &cobra.Command{
		Use:   "check EXPERIMENT...",
		Short: "Check the files of experiments",
		Long: `Checks experiments without running them. Each problem names file, line and column, the text found
and what was expected. The exit status is 1 if there is a problem.

--schema prints the JSON schema of the files, for editors.`,
		Example: `  airtide lab check my.yaml
  airtide lab check --schema > experiment.schema.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !schema {
				return usageError{fmt.Errorf("missing argument EXPERIMENT")}
			}
			return nil
		},
		ValidArgsFunction: completeExperiment,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := t.Out
			if schema {
				_, err := out.Write(plan.Schema)
				return err
			}
			type checked struct {
				File     string   `json:"file"`
				Points   int      `json:"points"`
				Runs     int      `json:"runs"`
				Problems []string `json:"problems"`
			}
			all := []checked{}
			wrong := 0
			for _, arg := range args {
				c := checked{File: arg, Problems: []string{}}
				p, err := readPlan(arg)
				if err != nil {
					wrong++
					c.Problems = problems(err)
				} else {
					c.Points, c.Runs = len(p.Points), len(p.Runs)
				}
				all = append(all, c)
			}
			if asJSON {
				if err := t.JSON(all); err != nil {
					return err
				}
			} else {
				for _, c := range all {
					for _, p := range c.Problems {
						fmt.Fprintln(out, p)
					}
					if len(c.Problems) == 0 {
						points, runs := counted(c.Points, "point"), counted(c.Runs, "run")
						fmt.Fprintf(out, "%s: valid, %s, %s\n", c.File, points, runs)
					}
				}
			}
			if wrong > 0 {
				return exitStatus(statusFailed)
			}
			return nil
		},
	}
	asJSON.register(cmd.Flags(), "print as JSON")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of an experiment's file")
	return cmd
}

// problems are the messages of an error, one for each problem of the file.
func problems(err error) []string {
	list, ok := err.(plan.Problems)
	if !ok {
		return []string{err.Error()}
	}
	var all []string
	for _, p := range list {
		all = append(all, p.Error())
	}
	return all
}
