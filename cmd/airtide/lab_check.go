package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"airtide/internal/lab/plan"
)

func newLabCheck() *cobra.Command {
	var asJSON, schema bool
	cmd := &cobra.Command{
		Use:   "check EXPERIMENT...",
		Short: "Say what is wrong with experiments' files",
		Long: `Checks experiments without running them. Each problem names file, line and column, what was found and what was
expected. The exit status is 1 when there is any.

--schema prints the JSON schema of the files, for editors.`,
		Example: `  airtide lab check my.yaml
  airtide lab check --schema > experiment.schema.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !schema {
				return misuse{fmt.Errorf("missing argument EXPERIMENT")}
			}
			return nil
		},
		ValidArgsFunction: completeExperiment,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
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
				if err := printJSON(out, all); err != nil {
					return err
				}
			} else {
				for _, c := range all {
					for _, p := range c.Problems {
						fmt.Fprintln(out, p)
					}
					if len(c.Problems) == 0 {
						fmt.Fprintf(out, "%s: right: %d points, %d runs\n", c.File, c.Points, c.Runs)
					}
				}
			}
			if wrong > 0 {
				return exitStatus(exitFailed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of an experiment's file")
	return cmd
}

// problems are the messages of an error, one for each problem of a file.
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
