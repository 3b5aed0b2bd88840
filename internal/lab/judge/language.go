package judge

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/expr-lang/expr"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"airtide/internal/fairness"
	"airtide/internal/share/allocate"
	"airtide/internal/stats"
)

// Vocabulary has the names that claims of an experiment may use: its measurements, and the values
// of each axis of its sweep.
type Vocabulary struct {
	Measurements []string
	Axes         map[string][]string
}

// Functions are the functions of the claim language, with their meanings.
var Functions = map[string]string{
	"at": `at(goodput, {rtt: "16 ms"}): the runs in which the swept parameters have these values`,
	"at_each": `at_each("rtt", mean(a) > mean(b)): ` +
		"whether it holds at each value of the swept parameter by itself",
	"mean":   "mean(goodput): over all values of all runs",
	"median": "median(goodput): over all values of all runs",
	"sd":     "sd(goodput): sample standard deviation over all values of all runs",
	"min":    "min(goodput): the least value",
	"max":    "max(goodput): the greatest value",
	"total":  "total(goodput): sum of a run's values, mean over runs",
	"jain":   "jain(goodput): Jain's index of a run's values, mean over runs",
	"normalised_jain": "normalised_jain(goodput, [400, 50]): " +
		"Jain's index of the values over what each terminal reaches alone",
	"printed_index": "printed_index(goodput, [400, 50]): the improved index as Matsuno et al. 2021 print it",
	"airtime_used": "airtime_used(goodput, [400, 50]): " +
		"sum of the values over what each terminal reaches alone",
	"distance": "distance(goodput, [400, 50], 100): " +
		"from the proportionally fair optimum, in nats; without the wire's capacity that is no limit",
	"rank_correlation": `rank_correlation(goodput, "rtt"): 1 when it rises with the swept parameter, -1 when it falls`,
	"abs":              "abs(x): the distance from zero",
}

// options are the language of claims: expr without its own functions, with those above, and the
// measurements by name.
func (v Vocabulary) options() []expr.Option {
	ofValues := func(figure func([]float64) float64) func(...any) (any, error) {
		return func(args ...any) (any, error) { return figure(args[0].(Set).pooled()), nil }
	}
	perRun := func(figure func([]float64) float64) func(...any) (any, error) {
		return func(args ...any) (any, error) { return args[0].(Set).perRun(figure), nil }
	}
	overAlone := func(index func(x, alone []float64) float64) func(...any) (any, error) {
		return func(args ...any) (any, error) {
			alone, err := numbers(args[1].([]any))
			if err != nil {
				return nil, err
			}
			return args[0].(Set).perRun(func(x []float64) float64 { return index(x, alone) }), nil
		}
	}
	figure := new(func(Set) float64)
	index := new(func(Set, []any) float64)
	return []expr.Option{
		expr.Env(v.environment(nil, nil)),
		expr.DisableAllBuiltins(),
		expr.Optimize(false),
		expr.MaxNodes(1000),
		expr.Function("at", func(args ...any) (any, error) { return args[0].(Set).at(args[1].(map[string]any)), nil },
			new(func(Set, map[string]any) Set)),
		// Compile takes at_each apart, and nothing calls it.
		expr.Function("at_each", func(args ...any) (any, error) { return args[1], nil }, new(func(string, bool) bool)),
		expr.Function("mean", ofValues(func(x []float64) float64 { return stat.Mean(x, nil) }), figure),
		expr.Function("median", ofValues(stats.Median), figure),
		expr.Function("sd", ofValues(func(x []float64) float64 { return stat.StdDev(x, nil) }), figure),
		expr.Function("min", ofValues(func(x []float64) float64 { return extreme(x, floats.Min) }), figure),
		expr.Function("max", ofValues(func(x []float64) float64 { return extreme(x, floats.Max) }), figure),
		expr.Function("total", perRun(floats.Sum), figure),
		expr.Function("jain", perRun(fairness.Jain), figure),
		expr.Function("normalised_jain", overAlone(fairness.NormalisedJain), index),
		expr.Function("printed_index", overAlone(fairness.PrintedForm), index),
		expr.Function("airtime_used", overAlone(fairness.Airtime), index),
		expr.Function("distance", distance, index, new(func(Set, []any, float64) float64)),
		expr.Function("rank_correlation",
			func(args ...any) (any, error) { return args[0].(Set).rankCorrelation(args[1].(string)), nil },
			new(func(Set, string) float64)),
		expr.Function("abs", func(args ...any) (any, error) { return math.Abs(args[0].(float64)), nil },
			new(func(float64) float64)),
	}
}

// distance returns the distance of each run's rates from the proportionally fair optimum within
// airtime and wire, as the mean over runs.
func distance(args ...any) (any, error) {
	c := fairness.Case{Alpha: allocate.Proportional}
	var err error
	if c.Max, err = numbers(args[1].([]any)); err != nil {
		return nil, err
	}
	if len(args) > 2 {
		c.Wire = args[2].(float64)
	}
	of := args[0].(Set).perRun(func(x []float64) float64 {
		if slices.ContainsFunc(x, math.IsNaN) || err != nil {
			return math.NaN()
		}
		c.Rates = x
		in, wrong := fairness.Of(c)
		err = wrong
		return float64(in.Distance)
	})
	return of, err
}

// environment gives each measurement its set over the runs.
func (v Vocabulary) environment(runs []*Run, used map[*Run]bool) map[string]any {
	env := map[string]any{}
	for _, m := range v.Measurements {
		env[m] = Set{measurement: m, runs: runs, used: used}
	}
	return env
}

// numbers are the elements of a list in a claim.
func numbers(list []any) ([]float64, error) {
	out := make([]float64, len(list))
	for i, e := range list {
		switch n := e.(type) {
		case float64:
			out[i] = n
		case int:
			out[i] = float64(n)
		default:
			return nil, fmt.Errorf("found %v in a list, expected a number", e)
		}
	}
	return out, nil
}

// axisNames are the swept parameters, sorted.
func (v Vocabulary) axisNames() []string { return slices.Sorted(maps.Keys(v.Axes)) }
