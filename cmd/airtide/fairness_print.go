package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"airtide/internal/fairness"
)

// judged is one case with what was found; its JSON.
type judged struct {
	Run      string    `json:"run,omitempty"`
	Point    string    `json:"point,omitempty"`
	Unit     string    `json:"unit,omitempty"` // of all rates; none where the figures had none
	Of       string    `json:"of"`             // whose rates: terminal, flow, process, peer
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

// who says whose rates they are.
func (j *judged) who() string {
	text := fmt.Sprintf("%s (%s)", counted(len(j.Names), "rate"), strings.Join(j.Names, ", "))
	if j.Run != "" {
		text += " of run " + j.Run
	}
	return text
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// print prints one case.
func (f *fairnessFlags) print(out io.Writer, one judged) error {
	if f.asJSON {
		return printJSON(out, one)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	unit := ""
	if f.unit != "" {
		unit = " " + f.unit
	}
	if one.Optimum == nil {
		fmt.Fprintf(t, "%s\tRATE%s\t\n", strings.ToUpper(one.Of), unit)
	} else {
		fmt.Fprintf(t, "%s\tRATE%s\tALONE\tRATE/ALONE\tOPTIMUM\t\n", strings.ToUpper(one.Of), unit)
	}
	for i, x := range one.Rates {
		fmt.Fprintf(t, "%s\t%s\t", one.Names[i], rateFigure(x))
		if o := one.Optimum; o != nil {
			fmt.Fprintf(t, "%s\t%s\t%s\t", rateFigure(one.Max[i]), indexFigure(x/one.Max[i]), rateFigure(o.Shares[i]))
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	fmt.Fprintln(out)
	t = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(name, of, optimal string) {
		if one.Optimum != nil && optimal != "" {
			optimal = "optimum " + optimal
		}
		fmt.Fprintln(t, strings.TrimRight(name+"\t"+of+"\t"+optimal, "\t"))
	}
	o := one.Optimum
	if o == nil {
		o = &fairness.Optimum{}
	}
	best := func(v fairness.Number, figure func(float64) string) string {
		if one.Optimum == nil {
			return ""
		}
		return figure(float64(v))
	}
	line("total"+unit, rateFigure(float64(one.Total)), best(o.Total, rateFigure))
	line("Jain's index", indexFigure(float64(one.Jain)), best(o.Jain, indexFigure))
	line("of rate/alone", indexFigure(float64(one.Normalised)), best(o.Normalised, indexFigure))
	line("printed form", indexFigure(float64(one.Printed)), "")
	line("airtime", indexFigure(float64(one.Airtime)), best(o.Airtime, indexFigure))
	line("distance (nats)", indexFigure(float64(one.Distance)), "")
	if err := t.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	if one.Optimum == nil {
		fmt.Fprintln(out, "\nWhat is not there needs --max, what each terminal reaches alone.")
		return nil
	}
	fmt.Fprintf(out, "\nThe optimum is %s; it is limited by %s.\n", alphaName(float64(o.Alpha)), limitName(o.LimitedBy.String()))
	if one.Airtime > 1+1e-9 || one.Capacity != nil && float64(one.Total) > *one.Capacity*(1+1e-9) {
		fmt.Fprintln(out, "The rates are beyond the limits: --max or --capacity is too low, and so is the distance.")
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
func (f *fairnessFlags) printResult(out io.Writer, all judgedResult) error {
	if f.asJSON {
		return printJSON(out, all)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name string, total, jain, normalised, printed, airtime, distance fairness.Number) {
		fmt.Fprintf(t, "%s\t%s", name, rateFigure(float64(total)))
		for _, v := range []fairness.Number{jain, normalised, printed, airtime, distance} {
			fmt.Fprint(t, "\t", indexFigure(float64(v)))
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintln(t, "RUN\tTOTAL Mbit/s\tJAIN\tOF RATE/ALONE\tPRINTED\tAIRTIME\tDISTANCE")
	for _, r := range all.Runs {
		row(r.Run, r.Total, r.Jain, r.Normalised, r.Printed, r.Airtime, r.Distance)
	}
	for _, m := range all.Means {
		name := fmt.Sprintf("mean of %s", counted(m.Runs, "run"))
		if m.Point != "" {
			name += " at " + m.Point
		}
		row(name, m.Total, m.Jain, m.Normalised, m.Printed, m.Airtime, m.Distance)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// rateFigure has four digits, or those of the whole number.
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
	return fmt.Sprintf("%.3f", v+0) // without a minus before zero
}
