package score

import (
	"fmt"
	"math"
	"strings"

	"airtide/internal/share/allocate"
	"airtide/internal/share/fairness"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// WriteText prints a score.
func (s *Score) WriteText(t *terminal.Terminal) error {
	if err := t.Table(s.rateTable()); err != nil {
		return err
	}
	if err := t.Printf("\n"); err != nil {
		return err
	}
	if err := t.Table(s.indexTable()); err != nil {
		return err
	}
	if math.IsNaN(float64(s.Jain)) {
		if s.Optimum != nil {
			return t.Printf("\nRows marked \"-\" need a rate above 0.\n")
		}
		return t.Printf("\nJain's index needs a rate above 0. The other rows marked \"-\" also need --max, the rates " +
			"that\nthe terminals reach alone.\n")
	}
	if s.Optimum == nil {
		return t.Printf("\nRows marked \"-\" need --max, the rates that the terminals reach alone.\n")
	}
	err := t.Printf("\nThe optimum is %s; it is limited by %s.\n", alphaName(float64(s.Optimum.Alpha)),
		limitName(s.Optimum.LimitedBy.String()))
	if err != nil {
		return err
	}
	if s.Airtime > 1+1e-9 || s.Capacity != nil && float64(s.Total) > *s.Capacity*(1+1e-9) {
		return t.Printf("The rates exceed the limits: --max or --capacity is too low, and so is the distance.\n")
	}
	return nil
}

// unit returns the unit of the rates behind a blank, or nothing if it is unknown.
func (s *Score) unit() string {
	if s.Unit == "" {
		return ""
	}
	return " " + s.Unit
}

// rateTable is the table of rates, with a row for each flow or terminal.
func (s *Score) rateTable() *terminal.Table {
	rates := &terminal.Table{Columns: []terminal.Column{
		{Title: strings.ToUpper(s.Of), Right: true, Least: 8},
		{Title: "RATE" + s.unit(), Right: true},
	}}
	if s.Optimum != nil {
		rates.Columns = append(rates.Columns,
			terminal.Column{Title: "ALONE", Right: true, Optional: 2},
			terminal.Column{Title: "RATE/ALONE", Right: true, Optional: 1},
			terminal.Column{Title: "OPTIMUM", Right: true})
	}
	for i, x := range s.Rates {
		cells := []string{s.Names[i], rateFigure(x)}
		if o := s.Optimum; o != nil {
			cells = append(cells, rateFigure(s.Max[i]), indexFigure(x/s.Max[i]), rateFigure(o.Shares[i]))
		}
		rates.Add(cells...)
	}
	return rates
}

// indexTable is the table of indices, with those of the optimum if there is one.
func (s *Score) indexTable() *terminal.Table {
	indices := &terminal.Table{Columns: []terminal.Column{{Least: 8}, {}, {Least: 8}}}
	line := func(name string, value, optimal fairness.Number, figure func(float64) string) {
		best := ""
		if s.Optimum != nil && !math.IsNaN(float64(optimal)) {
			best = "optimum " + figure(float64(optimal))
		}
		indices.Add(name, figure(float64(value)), best)
	}
	o := s.Optimum
	if o == nil {
		o = &fairness.Optimum{}
	}
	none := fairness.Number(math.NaN())
	line("total"+s.unit(), s.Total, o.Total, rateFigure)
	line("Jain's index", s.Jain, o.Jain, indexFigure)
	line("of rate/alone", s.Normalised, o.Normalised, indexFigure)
	line("printed form", s.Printed, none, indexFigure)
	line("airtime", s.Airtime, o.Airtime, indexFigure)
	line("distance (nats)", s.Distance, none, indexFigure)
	return indices
}

func limitName(limit string) string {
	if limit == "both" {
		return "airtime and wire"
	}
	return limit
}

// WriteText prints the runs and the means.
func (r *Result) WriteText(t *terminal.Terminal) error {
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
	for _, s := range r.Runs {
		row(s.Run, s.Total, s.Jain, s.Normalised, s.Printed, s.Airtime, s.Distance)
	}
	for _, m := range r.Means {
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
