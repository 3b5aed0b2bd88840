package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/lab/plan"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
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
			if schema {
				_, err := t.Out.Write(plan.Schema)
				return err
			}
			type checked struct {
				File     string   `json:"file"`
				Points   int      `json:"points"`
				Runs     int      `json:"runs"`
				Problems []string `json:"problems"`
			}
			return printChecks(t, args, bool(asJSON), func(arg string) (any, string, error) {
				c := checked{File: arg, Problems: []string{}}
				p, err := plan.Open(cmd.Context(), arg)
				if err != nil {
					c.Problems = problems(err)
					return c, "", err
				}
				c.Points = len(p.Points)
				c.Runs = len(p.Runs)
				return c, units.Count(c.Points, "point") + ", " + units.Count(c.Runs, "run"), nil
			})
		},
	}
	asJSON.register(cmd.Flags(), "print as JSON")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON schema of an experiment's file")
	return cmd
}

// printChecks checks files and prints their problems, or what the valid ones contain. The exit
// status is 1 if a file has problems.
func printChecks(
	t *terminal.Terminal, files []string, asJSON bool, check func(file string) (any, string, error),
) error {
	all := []any{}
	var b strings.Builder
	failed := false
	for _, file := range files {
		one, contents, err := check(file)
		if errors.Is(err, context.Canceled) {
			return err
		}
		all = append(all, one)
		if err == nil {
			fmt.Fprintf(&b, "%s: valid, %s\n", units.Printable(file), contents)
			continue
		}
		failed = true
		for _, p := range problems(err) {
			fmt.Fprintln(&b, units.Printable(p)) // one line: the name of the file is in it
		}
	}
	print := func() error { return t.PrintWrapped(units.PrintableText(b.String(), false), 2) }
	if asJSON {
		print = func() error { return t.JSON(all) }
	}
	if err := print(); err != nil {
		return err
	}
	if failed {
		return exitStatus(statusFailed)
	}
	return nil
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
