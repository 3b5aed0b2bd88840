package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"airtide/experiments"
	"airtide/internal/lab/figures"
	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/internal/lab/result"
	"airtide/internal/lab/show"
	"airtide/internal/sys/file"
	"airtide/internal/units"
	"airtide/internal/view/figure"
	"airtide/internal/view/terminal"
)

func newLabShow(t *terminal.Terminal) *cobra.Command {
	var (
		root        resultsFlag
		into, run   string
		asJSON      jsonFlag
		asCSV, each bool
		asYAML      bool
		formats     []string
		theme       themeFlag
		o           figure.Options
	)
	cmd := &cobra.Command{
		Use:   "show RESULT",
		Short: "Print the tables and claims of a result, draw its figures",
		Long: `Prints the measurements of each point (mean, standard deviation, median, 95 % bootstrap interval
over the repeats) and the claims: held, not held, or not decided by the existing runs. The interval
is widened to Student's for few repeats, and cut at 0. Of an unfinished result, the finished runs
are shown.

--figures DIR draws the figures of the experiment; with --run those of one run over time. The exit
status is 3 if a claim is not held. A claim that is not decided does not change the exit status.

--yaml prints the file of the experiment: of one that comes with airtide, by its name, or of a
result.`,
		Example: `  airtide lab show quickstart
  airtide lab show quickstart --figures out
  airtide lab show quickstart --run r=1 --figures out
  airtide lab show results/my/20260131-120000 --json
  airtide lab show p1-fig8 --yaml > my.yaml`,
		Args:              exactArgs("RESULT"),
		ValidArgsFunction: completeResult,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notBoth(bool(asJSON), asCSV); err != nil {
				return err
			}
			if asYAML {
				return printExperiment(t, root, args[0])
			}
			dir, err := root.find(args[0])
			if err != nil {
				return err
			}
			for _, f := range formats {
				if !slices.Contains(figure.Formats, f) {
					return usageError{fmt.Errorf("figures are written as %v, not as %q", figure.Formats, f)}
				}
			}
			o.Theme, err = theme.find()
			if err != nil {
				return err
			}
			if run != "" {
				if err := needRun(dir, run); err != nil {
					return err
				}
				return drawRun(cmd.Context(), t, filepath.Join(dir, "runs", run), run, into, formats, o)
			}
			begun := time.Now()
			r, err := readResult(cmd.Context(), t, begun, dir)
			if err != nil {
				return err
			}
			out := t.Out
			if bool(asJSON) || asCSV { // the text has them
				for _, problem := range r.Runs.Unreadable {
					t.Warnf("%s", problem)
				}
			}
			switch {
			case bool(asJSON):
				err = show.WriteJSON(out, r)
			case asCSV:
				err = show.WriteCSV(out, r)
			default:
				err = show.WriteText(out, r, show.TextOptions{Colour: t.Colour, Width: t.Width, Each: each})
			}
			if err != nil {
				return err
			}
			if into != "" {
				if err := drawFigures(cmd.Context(), t, begun, r, into, formats, o); err != nil {
					return err
				}
			}
			return verdictOf(r)
		},
	}
	root.register(cmd)
	fl := cmd.Flags()
	fl.StringVar(&into, "figures", "", "folder to draw figures into")
	fl.StringVar(&run, "run", "", "draw one run over time, by its id")
	fl.StringSliceVar(&formats, "format", []string{"png", "svg"}, "formats of figures")
	theme.register(cmd)
	fl.BoolVar(&o.NoTitle, "no-title", false, "figures without titles")
	fl.Var(units.NumberFlag(&o.WidthCm), "width", "width of figures in cm (default 16)")
	asJSON.register(fl, "print as JSON")
	fl.BoolVar(&asCSV, "csv", false, "print as CSV")
	fl.BoolVar(&asYAML, "yaml", false, "print the experiment's file")
	cmd.MarkFlagsMutuallyExclusive("yaml", "json")
	cmd.MarkFlagsMutuallyExclusive("yaml", "csv")
	cmd.MarkFlagsMutuallyExclusive("yaml", "figures")
	fl.BoolVar(&each, "each", false, "also print the values by flow or terminal")
	_ = cmd.MarkFlagDirname("figures")
	return cmd
}

// printExperiment prints the file of an experiment that comes with airtide, or of a result.
func printExperiment(t *terminal.Terminal, root resultsFlag, arg string) error {
	if slices.Contains(plan.Experiments(), strings.TrimSuffix(arg, experiments.Ending)) {
		text, err := plan.Text(arg)
		if err != nil {
			return err
		}
		return t.Print(text)
	}
	dir, err := root.find(arg)
	if err != nil {
		return fmt.Errorf("%w (airtide lab list shows the experiments that come with airtide)", err)
	}
	text, err := result.Text(dir)
	if err != nil {
		return err
	}
	return t.Print(text)
}

func notBoth(asJSON, asCSV bool) error {
	if asJSON && asCSV {
		return usageError{errors.New("--json and --csv: choose one")}
	}
	return nil
}

// withProgress shows the progress of long work that may be a part of work begun earlier.
func withProgress(t *terminal.Terminal, begun time.Time, what string, f func(report.Progress) error) error {
	var at atomic.Value
	at.Store(what)
	return t.Wait(begun, func() string { return at.Load().(string) }, func() error {
		return f(func(doing string, number, of int) { at.Store(fmt.Sprintf("%s: %d of %d", doing, number, of)) })
	})
}

func readResult(
	ctx context.Context, t *terminal.Terminal, begun time.Time, dir string,
) (r *report.Report, err error) {
	err = withProgress(t, begun, "opening "+dir, func(p report.Progress) (err error) {
		r, err = report.Read(ctx, dir, p)
		return err
	})
	return r, err
}

// drawFigures prints the name of each figure once it is drawn.
func drawFigures(
	ctx context.Context, t *terminal.Terminal, begun time.Time, r *report.Report, dir string, formats []string,
	o figure.Options,
) error {
	return withProgress(t, begun, "drawing figures", func(p report.Progress) error {
		return figures.WriteAll(ctx, r, dir, formats, o, func(file string, number, of int) {
			t.Notef("drew %s", file)
			p("drawing figures", number, of)
		})
	})
}

// needRun refuses a run without a result, and names the first runs that have one.
func needRun(dir, run string) error {
	existing, err := result.FinishedRuns(dir)
	if err != nil || slices.Contains(existing, run) {
		return err
	}
	if len(existing) == 0 {
		return fmt.Errorf("no run %q in %s: none has finished", run, dir)
	}
	const most = 5
	more := ""
	if n := len(existing) - most; n > 0 {
		existing = existing[:most]
		more = fmt.Sprintf(" and %d more", n)
	}
	return usageError{fmt.Errorf("no run %q in %s: it has %s%s", run, dir, strings.Join(existing, ", "), more)}
}

func drawRun(
	ctx context.Context, t *terminal.Terminal, dir, run, into string, formats []string, o figure.Options,
) error {
	if into == "" {
		return usageError{fmt.Errorf("no folder for the figures: give one with --figures DIR")}
	}
	if err := file.MakeFolder(into); err != nil {
		return fmt.Errorf("making a folder for figures: %w", err)
	}
	for _, format := range formats {
		path := filepath.Join(into, run+"."+format)
		var drawn bytes.Buffer
		err := t.WaitFor("drawing run "+run, func() error { return figures.DrawRun(ctx, &drawn, format, dir, o) })
		if err != nil {
			return err
		}
		if err := file.WriteOutput(path, drawn.Bytes()); err != nil {
			return fmt.Errorf("drawing run %s: %w", run, err)
		}
		if err := t.Printf("drew %s\n", path); err != nil {
			return err
		}
	}
	return nil
}

// showResult prints a result after its last run.
func showResult(ctx context.Context, t *terminal.Terminal, dir string) error {
	r, err := readResult(ctx, t, time.Now(), dir)
	if err != nil {
		return err
	}
	if err := show.WriteText(t.Out, r, show.TextOptions{Colour: t.Colour, Width: t.Width}); err != nil {
		return err
	}
	if err := t.Printf("\nin %s; airtide lab show --figures DIR draws it\n", dir); err != nil {
		return err
	}
	return verdictOf(r)
}

// verdictOf is an error if a claim of a result is not held.
func verdictOf(r *report.Report) error {
	if r.Refuted() {
		return judge.NotHeldError{}
	}
	return nil
}
