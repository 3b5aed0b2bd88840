package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/share/allocate"
	"airtide/internal/share/fairness"
	"airtide/internal/units"
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
	alone, weighing []float64
	wire, objective float64
	leastRate       float64 // in Mbit/s
	unit            string  // of all rates; empty if numbers have none
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
  airtide fairness 30Mbit 28Mbit 9Mbit 8Mbit --max 400Mbit,500Mbit,50Mbit,50Mbit --capacity 1Gbit --json
  airtide fairness upload.atr --least 10kbit
  airtide fairness upload.atr --by process
  airtide fairness --result quickstart --max 400,500,50,50 --capacity 100
  airtide fairness --result results/my/20260131-120000/runs/r=1/result.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.sourceGiven(args); err != nil {
				return usageError{err}
			}
			if f.result != "" {
				return f.judgeResult(t)
			}
			if len(args) == 1 && isFile(args[0]) {
				return f.judgeRecording(cmd.Context(), t, args[0])
			}
			one, err := f.figures(args)
			if err != nil {
				return usageError{err}
			}
			return f.print(t, one)
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

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil || strings.HasSuffix(path, ".atr")
}

// sourceGiven checks that rates come from one place, and reads the flags that do not depend on it.
func (f *fairnessFlags) sourceGiven(args []string) (err error) {
	figures := len(args) > 0 && f.result == "" && !(len(args) == 1 && isFile(args[0]))
	switch {
	case f.result != "" && len(args) > 0:
		return fmt.Errorf("--result and %q: give one of them", args[0])
	case f.result == "" && len(args) == 0:
		return errors.New("no rates: give numbers, a recording, or --result")
	case figures && f.by != "":
		return errors.New("--by needs a recording or --result")
	case f.least != "" && (figures || f.result != ""):
		return errors.New("--least needs a recording")
	}
	if f.objective, err = allocate.ParseAlpha(f.alpha); err != nil {
		return fmt.Errorf("--alpha %w", err)
	}
	for _, text := range f.weights {
		w, ok := units.ParseNumber(strings.TrimSpace(text))
		if !ok || w == 0 {
			return fmt.Errorf("--weights %q: want numbers above 0", text)
		}
		f.weighing = append(f.weighing, w)
	}
	if figures {
		return nil
	}
	if f.least != "" {
		if f.leastRate, _, err = parseRate(f.least); err != nil {
			return fmt.Errorf("--least: %w", err)
		}
	}
	f.unit = mbits
	return f.readRates("")
}

// figures reads rates from the command line. An argument may hold several, separated by commas.
func (f *fairnessFlags) figures(args []string) (judged, error) {
	var texts []string
	for _, arg := range args {
		texts = append(texts, strings.Split(arg, ",")...)
	}
	one := judged{Of: "terminal"}
	for i, text := range texts {
		v, unit, err := parseRate(text)
		switch {
		case err != nil:
			return one, err
		case i > 0 && unit != f.unit:
			return one, errors.New("some rates have a unit and some have none: give all or none a unit")
		}
		f.unit = unit
		one.Rates, one.Names = append(one.Rates, v), append(one.Names, strconv.Itoa(i+1))
	}
	if err := f.readRates(f.unit); err != nil {
		return one, err
	}
	return one, f.judge(&one)
}

// readRates reads --max and --capacity. If asked is empty, numbers without a unit are in the unit
// of the rates.
func (f *fairnessFlags) readRates(asked string) error {
	for _, text := range f.max {
		v, unit, err := parseRate(text)
		if err != nil || v == 0 {
			return fmt.Errorf("--max %q: want rates above 0, such as 400 or 400Mbit", text)
		}
		if err := f.sameUnit("max", unit, asked); err != nil {
			return err
		}
		f.alone = append(f.alone, v)
	}
	if f.capacity == "" {
		return nil
	}
	v, unit, err := parseRate(f.capacity)
	if err != nil || v == 0 {
		return fmt.Errorf("--capacity %q: want a rate above 0, such as 100 or 100Mbit", f.capacity)
	}
	f.wire = v
	return f.sameUnit("capacity", unit, asked)
}

func (f *fairnessFlags) sameUnit(flag, unit, asked string) error {
	if unit == f.unit || unit == asked {
		return nil
	}
	if f.unit == "" {
		return fmt.Errorf("--%s has a unit and the rates have none: give all or none a unit", flag)
	}
	return fmt.Errorf("--%s has no unit and the rates have one: give all or none a unit", flag)
}

// judge fills in the indices.
func (f *fairnessFlags) judge(one *judged) error {
	for _, of := range []struct {
		flag    string
		figures int
	}{{"max", len(f.alone)}, {"weights", len(f.weighing)}} {
		if of.figures > 0 && of.figures != len(one.Rates) {
			return usageError{fmt.Errorf("--%s has %s for %s", of.flag, units.Count(of.figures, "figure"), one.who())}
		}
	}
	if f.weighing != nil && f.alone == nil {
		return usageError{errors.New("--weights needs --max: weights belong to the optimum")}
	}
	in, err := fairness.Of(fairness.Case{
		Names: one.Names, Rates: one.Rates, Max: f.alone, Weights: f.weighing, Wire: f.wire, Alpha: f.objective,
	})
	if err != nil {
		return err
	}
	one.Indices, one.Max, one.Weights, one.Unit = in, f.alone, f.weighing, f.unit
	if f.wire > 0 {
		one.Capacity = &f.wire
	}
	return nil
}

// mbits is the unit of rates with a unit.
const mbits = "Mbit/s"

// parseRate reads a number: in Mbit/s if it has a unit, otherwise as it is.
func parseRate(text string) (v float64, unit string, err error) {
	text = strings.TrimSpace(text)
	if v, ok := units.ParseNumber(text); ok {
		return v, "", nil
	}
	rate, err := units.ParseRate(text)
	if bad, ok := errors.AsType[*units.SyntaxError](err); ok {
		if bad.Meant != "" {
			return 0, "", fmt.Errorf("%q: did you mean %s?", text, bad.Meant)
		}
		return 0, "", fmt.Errorf("%q is neither a rate, such as 30 or 30 Mbit/s, nor a file", text)
	}
	return float64(rate) / 1e6, mbits, err
}

func alphaName(alpha float64) string {
	switch alpha {
	case allocate.TotalFirst:
		return "total first"
	case allocate.Proportional:
		return "proportionally fair"
	case allocate.FairnessFirst:
		return "max-min fair"
	}
	return fmt.Sprintf("alpha %g", alpha)
}
