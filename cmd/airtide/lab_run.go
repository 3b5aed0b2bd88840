package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/cell/engine"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	lab "airtide/internal/lab/run"
	"airtide/internal/view/terminal"
)

func newLabRun(t *terminal.Terminal) *cobra.Command {
	var (
		root   resultsFlag
		dryRun bool
		part   partFlags
		f      labFlags
	)
	cmd := &cobra.Command{
		Use:   "run EXPERIMENT",
		Short: "Run an experiment",
		Long: `Runs an experiment into a new folder below --results and shows progress and the remaining time.
Nothing is overwritten. After Ctrl-C, a crash or a full disk, airtide lab resume runs the missing
runs; finished runs stay as they are.

A run during which the emulator fell behind real time is repeated and does not count. The exit
status is 3 if a claim of the experiment is not held, also with --json and --quiet. A claim that is
not decided does not change the exit status.

--point runs a part of an experiment: the points with these values of swept parameters. It can be
given several times. --repeats changes the number of runs of each point. airtide lab resume runs the
other points later.`,
		Example: `  airtide lab run quickstart
  airtide lab run my.yaml --dry-run
  airtide lab run my.yaml -o /data/results
  airtide lab run p1-fig9 --at-once 2
  airtide lab run p1-fig8 --point "rtt=16 ms,system=ubuntu-9.10" --repeats 1`,
		Args:              exactArgs("EXPERIMENT"),
		ValidArgsFunction: completeExperiment,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := plan.Open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			p, err = part.of(cmd.Context(), args[0], p)
			if err != nil {
				return err
			}
			if dryRun {
				if f.given("at-once") {
					p.Experiment.AtOnce = f.atOnce
				}
				if f.json {
					return t.JSON(p)
				}
				return p.Print(t.Out, plan.Overhead)
			}
			return f.run(cmd.Context(), t, func(o lab.Options) (*lab.Outcome, error) {
				return lab.Run(cmd.Context(), string(root), p, o)
			})
		},
	}
	root.register(cmd)
	part.register(cmd)
	f.register(cmd)
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "print the plan and its duration, and run nothing")
	return cmd
}

// partFlags select a part of an experiment.
type partFlags struct {
	points  []string
	repeats int
	given   func(flag string) bool
}

func (f *partFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.points, "point", nil,
		"run only the points with these values, as NAME=VALUE,NAME=VALUE; may be given several times")
	cmd.Flags().IntVar(&f.repeats, "repeats", 0, "number of runs of each point (default: the experiment's)")
	f.given = cmd.Flags().Changed
}

// of returns the selected part of a plan. A part that does not exist is misuse.
func (f *partFlags) of(ctx context.Context, file string, p *plan.Plan) (*plan.Plan, error) {
	var err error
	flag := "repeats"
	if f.given("repeats") {
		p, err = p.Repeated(ctx, file, f.repeats)
	}
	if err == nil {
		flag = "point"
		p, err = p.Part(f.points)
	}
	if _, ok := errors.AsType[*plan.PartError](err); ok {
		return nil, usageError{fmt.Errorf("--%s %w", flag, err)}
	}
	return p, err
}

// labFlags are the flags of the verbs that run an experiment.
type labFlags struct {
	json     jsonFlag
	quiet    quietFlag
	lagLimit time.Duration
	atOnce   int
	given    func(flag string) bool
}

func (f *labFlags) register(cmd *cobra.Command) {
	f.json.register(cmd.Flags(), "print the outcome as JSON")
	f.quiet.register(cmd.Flags(), "print only errors")
	durationVar(cmd.Flags(), &f.lagLimit, "lag-limit", "", 0,
		"limit of the 99th percentile by which packets leave the cell late, 99.9th percentile: ten times the limit "+
			"(default: the experiment's, or "+engine.DefaultLagLimit.String()+")")
	cmd.Flags().IntVar(&f.atOnce, "at-once", 0,
		"number of runs at a time, if one run leaves the processors idle (default: the experiment's, or 1)")
	f.given = cmd.Flags().Changed
}

// run runs with progress and prints the outcome.
func (f *labFlags) run(ctx context.Context, t *terminal.Terminal, run func(lab.Options) (*lab.Outcome, error)) error {
	if f.given("at-once") && f.atOnce < 1 || f.atOnce > plan.MaxAtOnce {
		return usageError{fmt.Errorf("--at-once %d: want 1 to %d", f.atOnce, plan.MaxAtOnce)}
	}
	o := lab.Options{Tool: version(), LagLimit: f.lagLimit, AtOnce: f.atOnce}
	if !f.quiet {
		o.Notice = func(line string) { t.Notef("%s", line) }
		o.Progress = labProgress(t)
	}
	outcome, err := run(o)
	t.ClearStatus()
	if outcome == nil {
		return err
	}
	if f.json {
		if jsonErr := t.JSONLine(outcome); jsonErr != nil {
			return jsonErr
		}
	}
	switch {
	case err != nil:
		return err
	case bool(f.json), bool(f.quiet):
		return judgeResult(ctx, outcome.Dir)
	}
	return showResult(ctx, t, outcome.Dir)
}

// judgeResult judges the claims of a result and prints nothing.
func judgeResult(ctx context.Context, dir string) error {
	r, err := report.Read(ctx, dir, nil)
	if err != nil {
		return err
	}
	return verdictOf(r)
}

// labProgress shows a status line, or on a terminal that is not live a line for each attempt of a
// run. Of several runs at a time, the status line shows the run that began last.
func labProgress(t *terminal.Terminal) func(lab.Progress) {
	printed := map[string]int{}
	latest := 0
	return func(p lab.Progress) {
		left := p.Left.Round(time.Second)
		if !t.Live {
			if printed[p.Run] != p.Attempt {
				t.Notef("run %d of %d, %s left: %s", p.Number, p.Total, left, p.Run)
			}
			printed[p.Run] = p.Attempt
			return
		}
		if p.Number < latest {
			return
		}
		latest = p.Number
		stage := p.Stage
		if p.Elapsed >= 0 {
			stage = fmt.Sprintf("%s %s", p.Stage, p.Elapsed.Truncate(time.Second))
		}
		t.SetStatus("run %d of %d, %s left: %s, %s", p.Number, p.Total, left, p.Run, stage)
	}
}
