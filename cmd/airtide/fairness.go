package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/fairness"
	"airtide/internal/share/allocate"
)

// fairnessFlags are the figures that go with the rates: as they are given, and as they are read.
type fairnessFlags struct {
	max, weights        []string
	capacity, alpha     string
	least               string
	result, results, by string
	asJSON              bool
	alone, weighing     []float64
	wire, objective     float64
	leastRate           float64 // in Mbit/s
	unit                string  // of all rates; empty where figures have none
}

func newFairness() *cobra.Command {
	var f fairnessFlags
	cmd := &cobra.Command{
		Use:   "fairness {RATE... | FILE.atr | --result RESULT}",
		Short: "Judge how terminals share: Jain's index, the normalised one, the distance from the optimum",
		Long: `Judges rates of terminals that share an access point: Jain's index, Jain's index of the rates over what each terminal reaches
alone (--max), P4's improved index as printed, the total, the airtime used, and the distance from the optimum of
proportional fairness within airtime and wire (--capacity), in nats. What needs --max is absent without it.

Rates are figures, all with a unit such as 30Mbit or all without; or those of a recording, by flow, process or peer; or those of
an experiment's result, by terminal or flow: each run, and the mean over the runs of each point. There, rates are in Mbit/s,
and so are plain figures beside them.`,
		Example: `  airtide fairness 30 28 9 8 --max 400,500,50,50
  airtide fairness 30Mbit 28Mbit 9Mbit 8Mbit --max 400Mbit,500Mbit,50Mbit,50Mbit --capacity 1Gbit --json
  airtide fairness upload.atr --least 10kbit
  airtide fairness upload.atr --by process
  airtide fairness --result quickstart --max 400,500,50,50 --capacity 100
  airtide fairness --result results/my/20260131-120000/runs/r=1/result.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.sourceGiven(args); err != nil {
				return misuse{err}
			}
			out := cmd.OutOrStdout()
			if f.result != "" {
				return f.judgeResult(out)
			}
			if len(args) == 1 && isFile(args[0]) {
				return f.judgeRecording(cmd.Context(), out, args[0])
			}
			one, err := f.figures(args)
			if err != nil {
				return misuse{err}
			}
			return f.print(out, one)
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"atr"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&f.max, "max", nil, "what each terminal reaches alone, in the order of the rates")
	fl.StringSliceVar(&f.weights, "weights", nil, "what each terminal counts for in the optimum (default 1 each)")
	fl.StringVar(&f.capacity, "capacity", "", "of the wire behind the access point (default: no limit)")
	fl.StringVar(&f.alpha, "alpha", "1", "what is best: 0 the total, 1 proportional fairness, inf max-min fairness, or between")
	fl.StringVar(&f.result, "result", "", "folder of an experiment's result, a run's result.json, or an experiment's name for its newest result")
	fl.StringVar(&f.by, "by", "", "whose rates: of a result, terminal (default) or flow; of a recording, flow (default), process or peer")
	fl.StringVar(&f.least, "least", "", "of a recording, leave out rates below this: a control connection is a flow, too")
	fl.BoolVar(&f.asJSON, "json", false, "print JSON")
	resultsFlag(cmd, &f.results)
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{"terminal", "flow", "process", "peer"}, cobra.ShellCompDirectiveNoFileComp))
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
		return errors.New("no rates: give figures, a recording, or --result")
	case figures && f.by != "":
		return errors.New("--by goes with a recording or --result")
	case f.least != "" && (figures || f.result != ""):
		return errors.New("--least goes with a recording")
	}
	if f.objective, err = strconv.ParseFloat(f.alpha, 64); err != nil || !(f.objective >= 0) {
		return fmt.Errorf("--alpha %q: want 0 or more, or inf", f.alpha)
	}
	for _, text := range f.weights {
		w, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || !(w > 0) || math.IsInf(w, 1) {
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

// figures are rates that the command line has. An argument may hold several, with commas between.
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
			return one, errors.New("some rates have a unit and some have none: give all or none")
		}
		f.unit = unit
		one.Rates, one.Names = append(one.Rates, v), append(one.Names, strconv.Itoa(i+1))
	}
	if err := f.readRates(f.unit); err != nil {
		return one, err
	}
	return one, f.judge(&one)
}

// readRates reads --max and --capacity. Plain numbers are in the unit of the rates where that is not asked for.
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
		return fmt.Errorf("--%s has a unit and the rates have none: give all or none", flag)
	}
	return fmt.Errorf("--%s has no unit and the rates have: give all or none", flag)
}

// judge fills in the indices.
func (f *fairnessFlags) judge(one *judged) error {
	for _, of := range []struct {
		flag    string
		figures int
	}{{"max", len(f.alone)}, {"weights", len(f.weighing)}} {
		if of.figures > 0 && of.figures != len(one.Rates) {
			return misuse{fmt.Errorf("--%s has %s for %s", of.flag, counted(of.figures, "figure"), one.who())}
		}
	}
	if f.weighing != nil && f.alone == nil {
		return misuse{errors.New("--weights are those of the optimum, which needs --max")}
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

// mbits is the unit of rates that have one.
const mbits = "Mbit/s"

// parseRate reads a number, as it is or, with a unit, in Mbit/s.
func parseRate(text string) (v float64, unit string, err error) {
	text = strings.TrimSpace(text)
	number := strings.TrimRight(text, "kMGbitps/ ")
	v, err = strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0) || math.IsInf(v, 1) {
		return 0, "", fmt.Errorf("%q is neither a rate, such as 30 or 30Mbit, nor a file", text)
	}
	given := strings.TrimSpace(text[len(number):])
	if given == "" {
		return v, "", nil
	}
	for prefix, size := range map[string]float64{"": 1e-6, "k": 1e-3, "M": 1, "G": 1e3} {
		for _, bits := range []string{"", "bit", "bit/s", "bps"} {
			if given == prefix+bits {
				return v * size, mbits, nil
			}
		}
	}
	return 0, "", fmt.Errorf("%q has a unit that is none of bit, kbit, Mbit and Gbit", text)
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
