package main

import (
	"errors"

	"github.com/spf13/cobra"

	"airtide/internal/lab/score"
	"airtide/internal/view/terminal"
)

// fairnessFlags are the flags as the user gives them and as they are read.
type fairnessFlags struct {
	max, weights    []string
	capacity, alpha string
	least           string
	result, by      string
	results         resultsFlag
	asJSON          jsonFlag
	options         score.Options
	leastRate       float64 // in Mbit/s
}

func newFairness(t *terminal.Terminal) *cobra.Command {
	var f fairnessFlags
	cmd := &cobra.Command{
		Use:   "fairness {RATE... | FILE.atr | --result RESULT}",
		Short: "Judge how terminals share: Jain's index, the normalised index, the distance from the optimum",
		Long: `Judges the rates of terminals that share an access point. It prints Jain's index; Jain's index of
the rates over the rates that each terminal reaches alone (--max); the improved index as printed in
Matsuno et al. 2021; the total; the airtime used; and the distance in nats from the optimum of
proportional fairness within airtime and wire (--capacity). Rows marked "-" need --max.

Rates are numbers, all with a unit such as 30Mbit or all without. Or they are the rates of a
recording, by flow, process or peer. Or they are the rates of an experiment's result, by terminal or
flow: each run, and the mean over the runs of each point. Rates of recordings and results are in
Mbit/s, as are numbers without a unit next to them.`,
		Example: `  airtide fairness 30 28 9 8 --max 400,500,50,50
  airtide fairness 30Mbit 28Mbit --max 400Mbit,500Mbit --capacity 1Gbit --json
  airtide fairness upload.atr --least 10kbit
  airtide fairness upload.atr --by process
  airtide fairness --result quickstart --max 400,500,50,50 --capacity 100
  airtide fairness --result results/my/20260131-120000/runs/r=1/result.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.sourceGiven(args); err != nil {
				return usageError{err}
			}
			err := f.judge(cmd.Context(), t, args)
			if _, ok := errors.AsType[*score.OptionError](err); ok {
				return usageError{err}
			}
			return err
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"atr"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.max, "max", nil, "rates that the terminals reach alone, in the order of the rates")
	fl.StringSliceVar(&f.weights, "weights", nil, "weights of the terminals in the optimum (default 1 each)")
	fl.StringVar(&f.capacity, "capacity", "", "rate of the wire behind the access point (default: no limit)")
	fl.StringVar(&f.alpha, "alpha", "1",
		"optimum: 0 maximises the total, 1 is proportional fairness, inf is max-min fairness")
	fl.StringVar(&f.result, "result", "",
		"folder of a result, result.json of a run, or name of an experiment for its newest result")
	fl.StringVar(&f.by, "by", "",
		"sum of rates: terminal (default) or flow of a result; flow (default), process or peer of a recording")
	fl.StringVar(&f.least, "least", "", "leave out rates of a recording below this rate, such as control connections")
	f.asJSON.register(fl, "print JSON")
	f.results.register(cmd)
	fixed(cmd, "by", "terminal", "flow", "process", "peer")
	return cmd
}
