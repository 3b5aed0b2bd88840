package main

import (
	"fmt"
	"math"
	"strings"

	"airtide/internal/share/fairness"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// judged is one case with its indices. It is the JSON of the verb.
type judged struct {
	Run      string    `json:"run,omitempty"`
	Point    string    `json:"point,omitempty"`
	Unit     string    `json:"unit,omitempty"` // of all rates; empty if the numbers had none
	Of       string    `json:"of"`             // what has a rate: terminal, flow, process or peer
	Names    []string  `json:"names"`
	Rates    []float64 `json:"rates"`
	Max      []float64 `json:"max"`
	Weights  []float64 `json:"weights,omitempty"`
	Capacity *float64  `json:"capacity"`
	fairness.Indices
}

// judgedResult are the runs of a result.
type judgedResult struct {
	Experiment string       `json:"experiment"`
	Runs       []judged     `json:"runs"`
	Means      []judgedMean `json:"means"`
}

type judgedMean struct {
	Point string `json:"point"`
	fairness.Means
}

// who returns the owners of the rates.
func (j *judged) who() string {
	text := fmt.Sprintf("%s (%s)", units.Count(len(j.Names), "rate"), strings.Join(j.Names, ", "))
	if j.Run != "" {
		text += " of run " + j.Run
	}
	return text
}

// print prints one case.
func (f *fairnessFlags) print(t *terminal.Terminal, one judged) error {
	if f.asJSON {
		return t.JSON(one)
	}
	unit := ""
	if f.unit != "" {
		unit = " " + f.unit
	}
	rates := &terminal.Table{Columns: []terminal.Column{
		{Title: strings.ToUpper(one.Of), Right: true, Least: 8},
		{Title: "RATE" + unit, Right: true},
	}}
	if one.Optimum != nil {
		rates.Columns = append(rates.Columns,
			terminal.Column{Title: "ALONE", Right: true, Optional: 2},
			terminal.Column{Title: "RATE/ALONE", Right: true, Optional: 1},
			terminal.Column{Title: "OPTIMUM", Right: true})
	}
	for i, x := range one.Rates {
		cells := []string{one.Names[i], rateFigure(x)}
		if o := one.Optimum; o != nil {
			cells = append(cells, rateFigure(one.Max[i]), indexFigure(x/one.Max[i]), rateFigure(o.Shares[i]))
		}
		rates.Add(cells...)
	}
	indices := &terminal.Table{Columns: []terminal.Column{{Least: 8}, {}, {Least: 8}}}
	line := func(name string, value, optimal fairness.Number, figure func(float64) string) {
		best := ""
		if one.Optimum != nil && !math.IsNaN(float64(optimal)) {
			best = "optimum " + figure(float64(optimal))
		}
		indices.Add(name, figure(float64(value)), best)
	}
	o := one.Optimum
	if o == nil {
		o = &fairness.Optimum{}
	}
	none := fairness.Number(math.NaN())
	line("total"+unit, one.Total, o.Total, rateFigure)
	line("Jain's index", one.Jain, o.Jain, indexFigure)
	line("of rate/alone", one.Normalised, o.Normalised, indexFigure)
	line("printed form", one.Printed, none, indexFigure)
	line("airtime", one.Airtime, o.Airtime, indexFigure)
	line("distance (nats)", one.Distance, none, indexFigure)
	if err := t.Table(rates); err != nil {
		return err
	}
	if err := t.Printf("\n"); err != nil {
		return err
	}
	if err := t.Table(indices); err != nil {
		return err
	}
	if one.Optimum == nil {
		return t.Printf("\nRows marked \"-\" need --max, the rates that the terminals reach alone.\n")
	}
	err := t.Printf("\nThe optimum is %s; it is limited by %s.\n", alphaName(float64(o.Alpha)),
		limitName(o.LimitedBy.String()))
	if err != nil {
		return err
	}
	if one.Airtime > 1+1e-9 || one.Capacity != nil && float64(one.Total) > *one.Capacity*(1+1e-9) {
		return t.Printf("The rates exceed the limits: --max or --capacity is too low, and so is the distance.\n")
	}
	return nil
}

func limitName(limit string) string {
	if limit == "both" {
		return "airtime and wire"
	}
	return limit
}

// printResult prints the runs of a result and the means.
func (f *fairnessFlags) printResult(t *terminal.Terminal, all judgedResult) error {
	if f.asJSON {
		return t.JSON(all)
	}
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "RUN", Least: 10},
		{Title: "TOTAL\nMbit/s", Right: true},
		{Title: "JAIN", Right: true},
		{Title: "OF RATE\n/ALONE", Right: true, Optional: 3},
		{Title: "PRINTED", Right: true, Optional: 4},
		{Title: "AIRTIME", Right: true, Optional: 2},
		{Title: "DISTANCE", Right: true, Optional: 1},
	}}
	row := func(name string, total fairness.Number, indices ...fairness.Number) {
		cells := []string{name, rateFigure(float64(total))}
		for _, v := range indices {
			cells = append(cells, indexFigure(float64(v)))
		}
		table.Add(cells...)
	}
	for _, r := range all.Runs {
		row(r.Run, r.Total, r.Jain, r.Normalised, r.Printed, r.Airtime, r.Distance)
	}
	for _, m := range all.Means {
		name := fmt.Sprintf("mean of %s", units.Count(m.Runs, "run"))
		if m.Point != "" {
			name += " at " + m.Point
		}
		row(name, m.Total, m.Jain, m.Normalised, m.Printed, m.Airtime, m.Distance)
	}
	return t.Table(table)
}

// rateFigure prints four digits, or a whole number.
func rateFigure(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case a >= 1000 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case a >= 100:
		return fmt.Sprintf("%.1f", v)
	case a >= 10:
		return fmt.Sprintf("%.2f", v)
	case a >= 1:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

func indexFigure(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 0):
		return "infinite"
	}
	if math.Abs(v) < 0.0005 {
		v = 0 // without a minus before zero
	}
	return fmt.Sprintf("%.3f", v)
}
