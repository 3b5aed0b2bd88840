package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/cell/engine"
	"airtide/internal/lab/plan"
	lab "airtide/internal/lab/run"
	"airtide/internal/lab/show"
	"airtide/internal/view/screen"
)

func newLabRun() *cobra.Command {
	var (
		root   string
		dryRun bool
		f      labFlags
	)
	cmd := &cobra.Command{
		Use:   "run EXPERIMENT",
		Short: "Run an experiment",
		Long: `Runs an experiment into a folder of its own below --results, with progress and the time that is left. Nothing is ever
overwritten. After Ctrl-C, a crash or a full disk, airtide lab resume does the rest; finished runs stay as they are.

A run during which the emulator fell behind real time is repeated, and never counts. The exit status is 3 when a claim of
the experiment is not held, with --json and --quiet too; a claim that is not decided does not change it.`,
		Example: `  airtide lab run quickstart
  airtide lab run my.yaml --dry-run
  airtide lab run my.yaml -o /data/results
  airtide lab run p1-fig9 --at-once 2`,
		Args:              exactArgs("EXPERIMENT"),
		ValidArgsFunction: completeExperiment,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := readExperiment(args[0])
			if err != nil {
				return err
			}
			p, err := plan.Read(args[0], file)
			if err != nil {
				return err
			}
			if dryRun {
				if f.json {
					return printJSON(cmd.OutOrStdout(), p)
				}
				return p.Print(cmd.OutOrStdout(), plan.Overhead)
			}
			return f.run(cmd, func(o lab.Options) (*lab.Outcome, error) {
				return lab.Run(cmd.Context(), root, p, o)
			})
		},
	}
	resultsFlag(cmd, &root)
	f.register(cmd)
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "print what would be done and how long it takes, and do nothing")
	return cmd
}

func newLabResume() *cobra.Command {
	var (
		root, file string
		f          labFlags
	)
	cmd := &cobra.Command{
		Use:   "resume RESULT",
		Short: "Do the runs that a result lacks",
		Long: `Does the runs of a result that were not finished, or failed. With --file the experiment may have changed meanwhile, as
long as the finished runs fit it: more repeats, more values of a sweep, other claims or figures.`,
		Example: `  airtide lab resume quickstart
  airtide lab resume results/my/20260131-120000 --file my.yaml`,
		Args:              exactArgs("RESULT"),
		ValidArgsFunction: completeResult,
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := resultDir(root, args[0])
			if err != nil {
				return err
			}
			var now *plan.Plan // nil is as it was
			if file != "" {
				data, err := readExperiment(file)
				if err != nil {
					return err
				}
				if now, err = plan.Read(file, data); err != nil {
					return err
				}
			}
			return f.run(cmd, func(o lab.Options) (*lab.Outcome, error) {
				return lab.Resume(cmd.Context(), dir, now, o)
			})
		},
	}
	resultsFlag(cmd, &root)
	f.register(cmd)
	cmd.Flags().StringVar(&file, "file", "", "the experiment's file as it is now (default: as it was)")
	return cmd
}

// labFlags are those of the verbs that run something.
type labFlags struct {
	json, quiet bool
	lagLimit    time.Duration
	atOnce      int
}

func (f *labFlags) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print the outcome as JSON")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print nothing but errors")
	cmd.Flags().DurationVar(&f.lagLimit, "lag-limit", engine.DefaultLagLimit, "how late 1 packet in 100 may leave the cell for a run to count (1 in 1000: ten times as late)")
	cmd.Flags().IntVar(&f.atOnce, "at-once", 1, "do so many runs at a time, where one leaves the processors time")
}

// run runs with progress, and prints what came of it.
func (f *labFlags) run(cmd *cobra.Command, run func(lab.Options) (*lab.Outcome, error)) error {
	if f.lagLimit <= 0 {
		return misuse{fmt.Errorf("--lag-limit %s: want a positive time", f.lagLimit)}
	}
	if f.atOnce < 1 || f.atOnce > lab.MaxAtOnce {
		return misuse{fmt.Errorf("--at-once %d: want 1 to %d", f.atOnce, lab.MaxAtOnce)}
	}
	o := lab.Options{Tool: version(), LagLimit: f.lagLimit, AtOnce: f.atOnce}
	if !f.quiet {
		live := screen.IsTerminal(os.Stderr)
		o.Notice = func(line string) { fmt.Fprintf(os.Stderr, "%s%s\n", clearLine(live), line) }
		o.Progress = labProgress(live)
	}
	outcome, err := run(o)
	if !f.quiet && screen.IsTerminal(os.Stderr) {
		fmt.Fprint(os.Stderr, clearLine(true))
	}
	if outcome == nil {
		return err
	}
	if f.json {
		if jsonErr := json.NewEncoder(cmd.OutOrStdout()).Encode(outcome); jsonErr != nil {
			return jsonErr
		}
	}
	switch {
	case err != nil:
		return err
	case f.json, f.quiet:
		return judgeResult(outcome.Dir)
	}
	return showResult(cmd, outcome.Dir)
}

// judgeResult holds a result's claims against it and prints nothing.
func judgeResult(dir string) error {
	r, err := show.Read(dir, nil)
	if err != nil {
		return err
	}
	return verdictOf(r)
}

func clearLine(live bool) string {
	if live {
		return "\r\x1b[K"
	}
	return ""
}

// labProgress is a line that is written again and again on a terminal, and else a line for each attempt of a run. Of
// several runs at once a terminal shows the one that began last.
func labProgress(live bool) func(lab.Progress) {
	said, latest := map[string]int{}, 0
	return func(p lab.Progress) {
		left := p.Left.Round(time.Second)
		if !live {
			if said[p.Run] != p.Attempt {
				fmt.Fprintf(os.Stderr, "run %d of %d, %s left: %s\n", p.Number, p.Total, left, p.Run)
			}
			said[p.Run] = p.Attempt
			return
		}
		if p.Number < latest {
			return
		}
		latest = p.Number
		at := p.Stage
		if p.Elapsed >= 0 {
			at = fmt.Sprintf("%s %s", p.Stage, p.Elapsed.Truncate(time.Second))
		}
		fmt.Fprintf(os.Stderr, "%srun %d of %d, %s left: %s, %s", clearLine(true), p.Number, p.Total, left, p.Run, at)
	}
}
