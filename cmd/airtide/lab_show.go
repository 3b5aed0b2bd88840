package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/lab/figures"
	"airtide/internal/lab/show"
	"airtide/internal/view/figure"
	"airtide/internal/view/screen"
)

// exitNotHeld: a claim is not held. One that the runs do not decide is no failure.
const exitNotHeld = 3

func newLabShow() *cobra.Command {
	var (
		root, into, run     string
		asJSON, asCSV, each bool
		formats             []string
		grey                bool
		o                   figure.Options
	)
	cmd := &cobra.Command{
		Use:   "show RESULT",
		Short: "Print a result's tables and claims, draw its figures",
		Long: `Prints the measurements of each point (mean, standard deviation, median, 95 % bootstrap interval over the repeats) and the
claims: held, not held, or not decided by the runs there are. Unfinished results are shown as far as they go.

--figures DIR draws the experiment's figures; with --run those of one run over time. The exit status is 3 when a claim
is not held; a claim that is not decided does not change it.`,
		Example: `  airtide lab show quickstart
  airtide lab show quickstart --figures out
  airtide lab show quickstart --run r=1 --figures out
  airtide lab show results/my/20260131-120000 --json`,
		Args:              exactArgs("RESULT"),
		ValidArgsFunction: completeResult,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notBoth(asJSON, asCSV); err != nil {
				return err
			}
			dir, err := resultDir(root, args[0])
			if err != nil {
				return err
			}
			for _, f := range formats {
				if !slices.Contains(figure.Formats, f) {
					return misuse{fmt.Errorf("figures are written as %v, not as %q", figure.Formats, f)}
				}
			}
			if grey {
				o.Theme = figure.Print
			}
			if run != "" {
				return drawRun(cmd, filepath.Join(dir, "runs", run), run, into, formats, o)
			}
			begun := time.Now()
			r, err := readResult(begun, dir)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			switch {
			case asJSON:
				err = r.WriteJSON(out)
			case asCSV:
				err = r.WriteCSV(out)
			default:
				err = r.WriteText(out, show.TextOptions{Colour: useColor(os.Stdout), Each: each})
			}
			if err != nil {
				return err
			}
			if into != "" {
				if err := drawFigures(begun, r, into, formats, o); err != nil {
					return err
				}
			}
			return verdictOf(r)
		},
	}
	resultsFlag(cmd, &root)
	fl := cmd.Flags()
	fl.StringVar(&into, "figures", "", "folder to draw figures into")
	fl.StringVar(&run, "run", "", "one run's course over time, by its id")
	fl.StringSliceVar(&formats, "format", []string{"png", "svg"}, "formats of figures")
	fl.BoolVar(&grey, "grey", false, "figures in black and greys")
	fl.BoolVar(&o.NoTitle, "no-title", false, "figures without their titles")
	fl.Float64Var(&o.WidthCm, "width", 0, "width of figures in cm (default 16)")
	fl.BoolVar(&asJSON, "json", false, "print as JSON")
	fl.BoolVar(&asCSV, "csv", false, "print as CSV")
	fl.BoolVar(&each, "each", false, "also the values by flow or terminal")
	_ = cmd.MarkFlagDirname("figures")
	return cmd
}

func notBoth(asJSON, asCSV bool) error {
	if asJSON && asCSV {
		return misuse{errors.New("--json and --csv: choose one")}
	}
	return nil
}

// withProgress says on a terminal how far something is that takes long, of which more may have begun before.
func withProgress(begun time.Time, what string, f func(show.Progress) error) error {
	var at atomic.Value
	at.Store(what)
	return telling(begun, func() string { return at.Load().(string) }, func() error {
		return f(func(doing string, number, of int) { at.Store(fmt.Sprintf("%s: %d of %d", doing, number, of)) })
	})
}

func readResult(begun time.Time, dir string) (r *show.Report, err error) {
	err = withProgress(begun, "opening "+dir, func(p show.Progress) (err error) {
		r, err = show.Read(dir, p)
		return err
	})
	return r, err
}

// drawFigures says of each figure when it is there.
func drawFigures(begun time.Time, r *show.Report, dir string, formats []string, o figure.Options) error {
	return withProgress(begun, "drawing figures", func(p show.Progress) error {
		return figures.WriteAll(r, dir, formats, o, func(file string, number, of int) {
			fmt.Fprintf(os.Stderr, "%sdrew %s\n", clearLine(screen.IsTerminal(os.Stderr)), file)
			p("drawing figures", number, of)
		})
	})
}

func drawRun(cmd *cobra.Command, dir, run, into string, formats []string, o figure.Options) error {
	if into == "" {
		return misuse{fmt.Errorf("no folder for the figures: give one with --figures DIR")}
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		return fmt.Errorf("making a folder for figures: %w", err)
	}
	for _, format := range formats {
		path := filepath.Join(into, run+"."+format)
		f, err := os.Create(path)
		if err != nil {
			return fmt.Errorf("drawing run %s: %w", run, err)
		}
		err = patiently("drawing run "+run, func() error { return figures.DrawRun(f, format, dir, o) })
		if err != nil {
			f.Close()
			os.Remove(path)
			return err
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("drawing run %s: %w", run, err)
		}
		fmt.Fprintln(cmd.OutOrStdout(), "drew", path)
	}
	return nil
}

// showResult prints a result after its last run.
func showResult(cmd *cobra.Command, dir string) error {
	r, err := readResult(time.Now(), dir)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if err := r.WriteText(out, show.TextOptions{Colour: useColor(os.Stdout)}); err != nil {
		return err
	}
	fmt.Fprintf(out, "\nin %s; airtide lab show --figures DIR draws it\n", dir)
	return verdictOf(r)
}

// verdictOf is the exit status that a result's claims have.
func verdictOf(r *show.Report) error {
	if r.Refuted() {
		return exitStatus(exitNotHeld)
	}
	return nil
}

func newLabCompare() *cobra.Command {
	var (
		root          string
		asJSON, asCSV bool
	)
	cmd := &cobra.Command{
		Use:   "compare RESULT RESULT...",
		Short: "Hold results against the first of them",
		Long: `For each measurement at each point that the results share: the difference to the first result with its 95 % bootstrap
interval, the ratio, and whether the difference is significant.`,
		Example: `  airtide lab compare results/my/20260131-120000 results/my/20260201-090000`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return misuse{fmt.Errorf("two results at least are needed")}
			}
			return nil
		},
		ValidArgsFunction: completeResults,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notBoth(asJSON, asCSV); err != nil {
				return err
			}
			begun := time.Now()
			var reports []*show.Report
			for _, arg := range args {
				dir, err := resultDir(root, arg)
				if err != nil {
					return err
				}
				r, err := readResult(begun, dir)
				if err != nil {
					return err
				}
				reports = append(reports, r)
			}
			var c *show.Comparison
			err := withProgress(begun, "comparing", func(p show.Progress) (err error) {
				c, err = show.Compare(p, reports...)
				return err
			})
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			switch {
			case asJSON:
				return c.WriteJSON(out)
			case asCSV:
				return c.WriteCSV(out)
			}
			return c.WriteText(out, show.TextOptions{Colour: useColor(os.Stdout)})
		},
	}
	resultsFlag(cmd, &root)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.Flags().BoolVar(&asCSV, "csv", false, "print as CSV")
	return cmd
}
