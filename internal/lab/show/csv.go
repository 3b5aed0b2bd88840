package show

import (
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"airtide/internal/lab/judge"
)

// WriteCSV writes a row for each figure: point, measurement, and flow or terminal (empty for what was taken of all). All
// digits are kept, and what there is not is empty.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := append([]string{"experiment"}, r.Parameters...)
	if err := out.Write(append(head, "measurement", "unit", "take", "of", "mean", "sd", "median", "low", "high", "runs", "jain")); err != nil {
		return err
	}
	for _, p := range r.Points {
		for _, m := range p.Measurements {
			row := func(take, of string, s judge.Summary, jain *judge.Summary) error {
				index := ""
				if jain != nil {
					index = exact(jain.Mean)
				}
				cells := append(append([]string{r.Experiment}, p.texts()...), m.Name, m.Unit, take, of)
				return out.Write(append(cells, exact(s.Mean), exact(s.SD), exact(s.Median), exact(s.Interval.Low), exact(s.Interval.High),
					strconv.Itoa(s.Runs), index))
			}
			if err := row(string(m.Take), "", m.Summary, m.Jain); err != nil {
				return err
			}
			for _, e := range m.Each {
				if err := row("", e.Of, e.Summary, nil); err != nil {
					return err
				}
			}
		}
	}
	out.Flush()
	return out.Error()
}

// exact is a figure with all its digits.
func exact(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
