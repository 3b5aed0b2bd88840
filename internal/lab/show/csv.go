package show

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"airtide/internal/lab/judge"
	"airtide/internal/units"
)

// WriteCSV writes a row for each point and measurement, and for each flow or terminal of it. The
// column "of" is empty in a row of all flows or terminals. Numbers have all digits, and a missing
// number is empty.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := append([]string{"experiment"}, r.Parameters...)
	head = append(head, "measurement", "unit", "take", "of")
	head = append(head, "mean", "sd", "median", "low", "high", "runs", "jain")
	if err := out.Write(cells(head)); err != nil {
		return err
	}
	for i := range r.Points {
		for k := range r.Points[i].Measurements {
			if err := r.writeRows(out, &r.Points[i], &r.Points[i].Measurements[k]); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// writeRows writes the rows of a measurement at a point.
func (r *Report) writeRows(out *csv.Writer, p *Point, m *Measurement) error {
	write := func(take, of string, s judge.Summary, jain string) error {
		row := append([]string{r.Experiment}, p.texts()...)
		row = append(row, m.Name, m.Unit, take, of, exact(s.Mean), exact(s.SD), exact(s.Median))
		row = append(row, exact(s.Interval.Low), exact(s.Interval.High), strconv.Itoa(s.Runs), jain)
		return out.Write(cells(row))
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

// cells protects the cells of a row from being read as formulas.
func cells(row []string) []string {
	for i := range row {
		row[i] = units.Cell(row[i])
	}
	return row
}

// exact returns a number with all its digits; empty if it is missing.
func exact(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
