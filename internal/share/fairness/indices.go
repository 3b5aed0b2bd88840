package fairness

import (
	"encoding/json"
	"math"

	"gonum.org/v1/gonum/stat"

	"airtide/internal/share/allocate"
)

// Indices judge a case. A figure of NaN could not be had, since Max is not known or all rates are
// zero.
type Indices struct {
	Terminals int `json:"terminals"`
	// Total is the sum of the rates, in their unit.
	Total Number `json:"total"`
	// Jain, Normalised and Printed are the results of Jain, NormalisedJain and PrintedForm.
	Jain       Number `json:"jain"`
	Normalised Number `json:"jain_normalised"`
	Printed    Number `json:"printed_form"`
	// Airtime is the part of the airtime that the rates use, sum(x/M).
	Airtime Number `json:"airtime"`
	// Distance is the distance from the optimum in nats, see the function Distance. It is infinite
	// if there are starved terminals; in JSON it is then null.
	Distance Number `json:"distance"`
	// Starved is the number of terminals that get nothing.
	Starved int `json:"starved_terminals"`
	// Optimum is nil when Max is not known.
	Optimum *Optimum `json:"optimum"`
}

// Optimum is the best that could be had within the limits.
type Optimum struct {
	// Alpha is the parameter of alpha-fairness: 1 is proportional fairness. Infinity, max-min
	// fairness, is null in JSON.
	Alpha Number `json:"alpha"`
	// Shares, in the order and the unit of the rates, and their sum.
	Shares []float64 `json:"shares"`
	Total  Number    `json:"total"`
	// Jain, Normalised and Airtime are the same as in Indices.
	Jain       Number `json:"jain"`
	Normalised Number `json:"jain_normalised"`
	Airtime    Number `json:"airtime"`
	// LimitedBy is the limit that keeps the shares from being greater.
	LimitedBy allocate.Limit `json:"limited_by"`
}

// Number is a number that is null in JSON if it is not finite.
type Number float64

// MarshalJSON writes null if the number is not finite.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Means are the indices of repeated runs, each the mean over the runs. An index is NaN if a run
// lacks it.
type Means struct {
	Runs       int    `json:"runs"`
	Total      Number `json:"total"`
	Jain       Number `json:"jain"`
	Normalised Number `json:"jain_normalised"`
	Printed    Number `json:"printed_form"`
	Airtime    Number `json:"airtime"`
	Distance   Number `json:"distance"`
}

// Mean takes the means of runs.
func Mean(runs []Indices) Means {
	of := func(figure func(in *Indices) Number) Number {
		values := make([]float64, len(runs))
		for i := range runs {
			values[i] = float64(figure(&runs[i]))
		}
		return Number(stat.Mean(values, nil))
	}
	return Means{
		Runs:       len(runs),
		Total:      of(func(in *Indices) Number { return in.Total }),
		Jain:       of(func(in *Indices) Number { return in.Jain }),
		Normalised: of(func(in *Indices) Number { return in.Normalised }),
		Printed:    of(func(in *Indices) Number { return in.Printed }),
		Airtime:    of(func(in *Indices) Number { return in.Airtime }),
		Distance:   of(func(in *Indices) Number { return in.Distance }),
	}
}
