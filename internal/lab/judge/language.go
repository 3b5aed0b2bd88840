package judge

import (
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"airtide/internal/share/allocate"
	"airtide/internal/share/fairness"
	"airtide/internal/stats"
)

// Vocabulary has the names that claims of an experiment may use: its measurements, and the values
// of each axis of its sweep.
type Vocabulary struct {
	Measurements []string
	Axes         map[string][]string
}

// kind is the type of a value in a claim.
type kind string

const (
	number      kind = "a number"
	measurement kind = "a measurement"
	axis        kind = "the name of a swept parameter"
	place       kind = `swept parameters with their values, as in {rtt: "16 ms"}`
	list        kind = "a list of numbers"
)

// value is a value of any kind.
type value struct {
	number float64
	set    Set
	text   string
	place  map[string]string
	list   []float64
}

// function is a function of the claim language.
type function struct {
	meaning    string
	parameters []kind
	optional   int // number of optional parameters at the end
	result     kind
	call       func([]value) (value, error)
}

// atEach is the function that evaluates comparisons at each value. Compile expands it.
const (
	atEach        = "at_each"
	atEachMeaning = `at_each("rtt", mean(a) > mean(b)): ` +
		"whether it holds at each value of the swept parameter by itself"
)

// functions are the functions of the claim language.
var functions = map[string]function{
	"at": {
		`at(goodput, {rtt: "16 ms"}): the runs in which the swept parameters have these values`,
		[]kind{measurement, place},
		0, measurement,
		func(a []value) (value, error) { return value{set: a[0].set.at(a[1].place)}, nil },
	},
	"mean": ofValues("mean(goodput): over all values of all runs",
		func(x []float64) float64 { return stat.Mean(x, nil) }),
	"median": ofValues("median(goodput): over all values of all runs", stats.Median),
	"sd": ofValues("sd(goodput): sample standard deviation over all values of all runs",
		func(x []float64) float64 { return stat.StdDev(x, nil) }),
	"min": ofValues("min(goodput): the least value",
		func(x []float64) float64 { return extreme(x, floats.Min) }),
	"max": ofValues("max(goodput): the greatest value",
		func(x []float64) float64 { return extreme(x, floats.Max) }),
	"total": perRun("total(goodput): sum of a run's values, mean over runs", floats.Sum),
	"jain":  perRun("jain(goodput): Jain's index of a run's values, mean over runs", fairness.Jain),
	"normalised_jain": overAlone("normalised_jain(goodput, [400, 50]): "+
		"Jain's index of the values over what each terminal reaches alone", fairness.NormalisedJain),
	"printed_index": overAlone("printed_index(goodput, [400, 50]): "+
		"the improved index as Matsuno et al. 2021 print it", fairness.PrintedForm),
	"airtime_used": overAlone("airtime_used(goodput, [400, 50]): "+
		"sum of the values over what each terminal reaches alone", fairness.Airtime),
	"distance": {
		"distance(goodput, [400, 50], 100): from the proportionally fair optimum, in nats; " +
			"without the wire's capacity that is no limit",
		[]kind{measurement, list, number},
		1, number, distance,
	},
	"rank_correlation": {
		`rank_correlation(goodput, "rtt"): 1 when it rises with the swept parameter, -1 when it falls`,
		[]kind{measurement, axis},
		0, number,
		func(a []value) (value, error) { return value{number: a[0].set.rankCorrelation(a[1].text)}, nil },
	},
	"abs": {
		"abs(x): the distance from zero",
		[]kind{number},
		0, number,
		func(a []value) (value, error) { return value{number: math.Abs(a[0].number)}, nil },
	},
}

func ofValues(meaning string, figure func([]float64) float64) function {
	return function{meaning, []kind{measurement}, 0, number, func(a []value) (value, error) {
		return value{number: figure(a[0].set.pooled())}, nil
	}}
}

func perRun(meaning string, figure func([]float64) float64) function {
	return function{meaning, []kind{measurement}, 0, number, func(a []value) (value, error) {
		return value{number: a[0].set.perRun(figure)}, nil
	}}
}

func overAlone(meaning string, index func(x, alone []float64) float64) function {
	return function{meaning, []kind{measurement, list}, 0, number, func(a []value) (value, error) {
		return value{number: a[0].set.perRun(func(x []float64) float64 { return index(x, a[1].list) })}, nil
	}}
}

// distance returns the distance of each run's rates from the proportionally fair optimum within
// airtime and wire, as the mean over runs.
func distance(args []value) (value, error) {
	c := fairness.Case{Alpha: allocate.Proportional, Max: args[1].list}
	if len(args) > 2 {
		c.Wire = args[2].number
	}
	var err error
	of := args[0].set.perRun(func(x []float64) float64 {
		if slices.ContainsFunc(x, math.IsNaN) || err != nil {
			return math.NaN()
		}
		c.Rates = x
		in, wrong := fairness.Of(c)
		err = wrong
		return float64(in.Distance)
	})
	return value{number: of}, err
}

// environment maps each measurement to its set over the runs.
func (v Vocabulary) environment(runs []*Run, used map[*Run]bool) environment {
	env := environment{}
	for _, m := range v.Measurements {
		env[m] = Set{measurement: m, runs: runs, used: used}
	}
	return env
}

// axisNames returns the sorted names of the swept parameters.
func (v Vocabulary) axisNames() []string { return slices.Sorted(maps.Keys(v.Axes)) }
