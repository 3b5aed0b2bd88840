package judge

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"airtide/internal/stats"
)

// Set is a measurement over some of the runs. In a claim, a measurement's name evaluates to a Set.
type Set struct {
	measurement string
	runs        []*Run
	// used collects the runs that a claim reads; nil if no caller needs them.
	used map[*Run]bool
}

// at returns the runs with these values of the sweep's axes.
func (s Set) at(where map[string]string) Set {
	kept := Set{measurement: s.measurement, used: s.used}
	for _, r := range s.runs {
		matches := true
		for axis, value := range where {
			if r.Point[axis].Text != value {
				matches = false
			}
		}
		if matches {
			kept.runs = append(kept.runs, r)
		}
	}
	return kept
}

// each calls f with the values of every run that has values.
func (s Set) each(f func(r *Run, values []float64)) {
	for _, r := range s.runs {
		if v := r.Values[s.measurement]; len(v) > 0 {
			if s.used != nil {
				s.used[r] = true
			}
			f(r, v)
		}
	}
}

// pooled returns the values of all runs in one list.
func (s Set) pooled() []float64 {
	var all []float64
	s.each(func(_ *Run, v []float64) { all = append(all, v...) })
	return all
}

// perRun returns the mean of a figure over the runs; NaN without runs.
func (s Set) perRun(figure func(values []float64) float64) float64 {
	var of []float64
	s.each(func(_ *Run, v []float64) { of = append(of, figure(v)) })
	return stat.Mean(of, nil)
}

// rankCorrelation returns Spearman's correlation between an axis of the sweep and the means of the
// measurement at its values. It is 1 if the measurement only rises with the axis, and -1 if it only
// falls.
func (s Set) rankCorrelation(axis string) float64 {
	sums := map[float64]float64{}
	counts := map[float64]float64{}
	s.each(func(r *Run, v []float64) {
		x := r.Point[axis].Number
		sums[x] += floats.Sum(v)
		counts[x] += float64(len(v))
	})
	var xs, ys []float64
	for x, sum := range sums {
		xs = append(xs, x)
		ys = append(ys, sum/counts[x])
	}
	if slices.ContainsFunc(xs, math.IsNaN) || len(xs) < 2 {
		return math.NaN()
	}
	return stat.Correlation(stats.Ranks(xs), stats.Ranks(ys), nil)
}

// extreme returns the least or greatest value; NaN without values.
func extreme(values []float64, of func([]float64) float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return of(values)
}
