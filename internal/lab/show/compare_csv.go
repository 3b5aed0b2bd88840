package show

import (
	"io"
	"strconv"

	"airtide/internal/lab/report"
	"airtide/internal/units"
)

// WriteComparisonCSV writes a row for each difference, with all digits.
func WriteComparisonCSV(w io.Writer, c *report.Comparison) error {
	out := units.NewCSV(w)
	head := append([]string{}, c.Parameters...)
	head = append(head, "measurement", "unit", "first", "other")
	head = append(head, "first_mean", "first_runs", "other_mean", "other_runs")
	if err := out.Row(append(head, "difference", "low", "high", "ratio", "significant")...); err != nil {
		return err
	}
	for _, p := range c.Points {
		ratio := ""
		significant := ""
		if p.Ratio != nil {
			ratio = exact(*p.Ratio)
		}
		if p.Significant != nil {
			significant = strconv.FormatBool(*p.Significant)
		}
		row := append(textsOf(&p, c.Parameters), p.Measurement, p.Unit, c.Results[0], p.With)
		row = append(row, exact(p.First.Mean), strconv.Itoa(p.First.Runs))
		row = append(row, exact(p.Other.Mean), strconv.Itoa(p.Other.Runs))
		row = append(row, exact(p.Difference.Value))
		row = append(row, exact(p.Difference.Interval.Low), exact(p.Difference.Interval.High), ratio, significant)
		if err := out.Row(row...); err != nil {
			return err
		}
	}
	return out.Flush()
}
