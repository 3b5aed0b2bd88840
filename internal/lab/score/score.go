// Package score judges how terminals or flows share, by the indices of package fairness. The rates
// are given, or those of a recording or of an experiment's result.
package score

import (
	"fmt"
	"strings"

	"airtide/internal/share/fairness"
	"airtide/internal/units"
)

// Score is a case with its indices, in the form of the JSON.
type Score struct {
	Run      string    `json:"run,omitempty"`
	Point    string    `json:"point,omitempty"`
	Unit     string    `json:"unit,omitempty"` // unit of all rates; empty if the numbers had none
	Of       string    `json:"of"`             // terminal, flow, process or peer: each has a rate
	Names    []string  `json:"names"`
	Rates    []float64 `json:"rates"`
	Max      []float64 `json:"max"`
	Weights  []float64 `json:"weights,omitempty"`
	Capacity *float64  `json:"capacity"`
	fairness.Indices
}

// Result holds the runs of an experiment's result, and the means of its points.
type Result struct {
	Experiment string  `json:"experiment"`
	Runs       []Score `json:"runs"`
	Means      []Mean  `json:"means"`
}

// Mean is the mean over the runs of a point.
type Mean struct {
	Point string `json:"point"`
	fairness.Means
}

// who returns the owners of the rates.
func (s *Score) who() string {
	text := fmt.Sprintf("%s (%s)", units.Count(len(s.Names), "rate"), strings.Join(s.Names, ", "))
	if s.Run != "" {
		text += " of run " + s.Run
	}
	return text
}

// Options are the limits of the terminals, in the unit of the rates.
type Options struct {
	// Alone holds the rates that the terminals reach alone, in the order of the rates. Nil means
	// unknown.
	Alone   []float64
	Weights []float64 // nil means 1 each
	Wire    float64   // 0 means no limit
	Alpha   float64
	Unit    string // unit of all rates; empty if they have none
}

// OptionError says that an option does not fit the rates.
type OptionError struct{ text string }

func (e *OptionError) Error() string { return e.text }

// Judge fills in the indices of the rates of a score.
func (o *Options) Judge(one *Score) error {
	for _, of := range []struct {
		flag    string
		figures int
	}{{"max", len(o.Alone)}, {"weights", len(o.Weights)}} {
		if of.figures > 0 && of.figures != len(one.Rates) {
			return &OptionError{
				fmt.Sprintf("--%s has %s for %s", of.flag, units.Count(of.figures, "figure"), one.who()),
			}
		}
	}
	if o.Weights != nil && o.Alone == nil {
		return &OptionError{"--weights needs --max: weights belong to the optimum"}
	}
	in, err := fairness.Of(fairness.Case{
		Names: one.Names, Rates: one.Rates, Max: o.Alone, Weights: o.Weights, Wire: o.Wire, Alpha: o.Alpha,
	})
	if err != nil {
		return err
	}
	one.Indices = in
	one.Max = o.Alone
	one.Weights = o.Weights
	one.Unit = o.Unit
	if o.Wire > 0 {
		one.Capacity = &o.Wire
	}
	return nil
}
