package show

import (
	"encoding/csv"
	"io"
	"strconv"
)

// WriteJSON writes the whole comparison.
func (c *Comparison) WriteJSON(w io.Writer) error { return writeJSON(w, c) }

// WriteCSV writes a row for each difference, with all digits.
func (c *Comparison) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := append([]string{}, c.Parameters...)
	head = append(head, "measurement", "unit", "first", "other")
	head = append(head, "first_mean", "first_runs", "other_mean", "other_runs")
	if err := out.Write(cells(append(head, "difference", "low", "high", "ratio", "significant"))); err != nil {
		return err
	}
	for _, p := range c.Points {
		ratio, significant := "", ""
		if p.Ratio != nil {
			ratio = exact(*p.Ratio)
		}
		if p.Significant != nil {
			significant = strconv.FormatBool(*p.Significant)
		}
		row := append(p.texts(c.Parameters), p.Measurement, p.Unit, c.Results[0], p.With)
		row = append(row, exact(p.First.Mean), strconv.Itoa(p.First.Runs))
		row = append(row, exact(p.Other.Mean), strconv.Itoa(p.Other.Runs))
		row = append(row, exact(p.Difference.Value))
		row = append(row, exact(p.Difference.Interval.Low), exact(p.Difference.Interval.High), ratio, significant)
		if err := out.Write(cells(row)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
