package show

import (
	"io"
	"math"
	"strconv"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/report"
	"airtide/internal/units"
)

// WriteCSV writes a row for each point and measurement, and for each flow or terminal of it. The
// column "of" is empty in a row of all flows or terminals. Numbers have all digits, and a missing
// number is empty.
func WriteCSV(w io.Writer, r *report.Report) error {
	out := units.NewCSV(w)
	head := append([]string{"experiment"}, r.Parameters...)
	head = append(head, "measurement", "unit", "take", "of")
	head = append(head, "mean", "sd", "median", "low", "high", "runs", "jain")
	if err := out.Row(head...); err != nil {
		return err
	}
	for i := range r.Points {
		for k := range r.Points[i].Measurements {
			if err := writeRows(out, r, &r.Points[i], &r.Points[i].Measurements[k]); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// writeRows writes the rows of a measurement at a point.
func writeRows(out *units.CSV, r *report.Report, p *report.Point, m *report.Measurement) error {
	write := func(take, of string, s judge.Summary, jain string) error {
		row := append([]string{r.Experiment}, texts(p)...)
		row = append(row, m.Name, m.Unit, take, of, exact(s.Mean), exact(s.SD), exact(s.Median))
		row = append(row, exact(s.Interval.Low), exact(s.Interval.High), strconv.Itoa(s.Runs), jain)
		return out.Row(row...)
	}
	jain := ""
	if m.Jain != nil {
		jain = exact(m.Jain.Mean)
	}
	if err := write(string(m.Take), "", m.Summary, jain); err != nil {
		return err
	}
	for _, e := range m.Each {
		if err := write("", e.Of, e.Summary, ""); err != nil {
			return err
		}
	}
	return nil
}

// exact returns a number with all its digits; empty if it is missing.
func exact(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
