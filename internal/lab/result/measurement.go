package result

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"airtide/internal/lab/plan"
	"airtide/internal/share/fairness"
	"airtide/internal/stats"
)

// Measurement is a figure of one run.
type Measurement struct {
	Quantity plan.Quantity `json:"quantity"`
	Unit     string        `json:"unit" jsonschema:"Unit of the values; empty for plain numbers."`
	Take     plan.Take     `json:"take" jsonschema:"How the values of several flows or terminals were combined; each: not at all."`
	// Values are the values for claims: one combined value, or all values of Each.
	Values Values `json:"values"`
	// Of names the flows or terminals. Each has one value for each of them.
	Of   []string `json:"of" jsonschema:"The flows or terminals that were measured."`
	Each Values   `json:"each" jsonschema:"The value of each flow or terminal."`
}

// NewMeasurement combines the values of flows or terminals as the experiment's file requests. A
// missing value is NaN, and makes the combined value NaN.
func NewMeasurement(m plan.Measurement, of []string, each []float64) Measurement {
	return Measurement{
		Quantity: m.Quantity, Unit: m.Unit(), Take: m.Take,
		Values: taken(m.Take, each), Of: of, Each: each,
	}
}

// taken combines several values into one, or returns all of them. It returns no value if there are
// none.
func taken(take plan.Take, each []float64) Values {
	of := map[plan.Take]func([]float64) float64{
		plan.Sum:    floats.Sum,
		plan.Mean:   func(x []float64) float64 { return stat.Mean(x, nil) },
		plan.Min:    floats.Min,
		plan.Max:    floats.Max,
		plan.Median: stats.Median,
		plan.Jain:   fairness.Jain,
	}[take]
	switch {
	case of == nil || len(each) == 0:
		return each
	case slices.ContainsFunc(each, math.IsNaN):
		return Values{math.NaN()}
	}
	return Values{of(each)}
}

// Values are numbers. A missing number is NaN in memory and null in JSON.
type Values []float64

// MarshalJSON writes NaN and infinities as null.
func (v Values) MarshalJSON() ([]byte, error) {
	out := make([]*float64, len(v))
	for i := range v {
		if !math.IsNaN(v[i]) && !math.IsInf(v[i], 0) {
			out[i] = &v[i]
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the output of MarshalJSON.
func (v *Values) UnmarshalJSON(b []byte) error {
	var in []*float64
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*v = make(Values, len(in))
	for i, x := range in {
		(*v)[i] = math.NaN()
		if x != nil {
			(*v)[i] = *x
		}
	}
	return nil
}

// check compares the parts of a measurement with each other.
func (m Measurement) check() error {
	if len(m.Of) != len(m.Each) {
		return fmt.Errorf("%d values of %d flows or terminals", len(m.Each), len(m.Of))
	}
	return nil
}
