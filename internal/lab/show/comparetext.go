package show

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
)

// WriteText writes a table for each measurement.
func (c *Comparison) WriteText(w io.Writer, o TextOptions) error {
	out := bufio.NewWriter(w)
	for i, dir := range c.Results {
		fmt.Fprintf(out, "%s  %s\n", letter(i), dir)
	}
	var names []string
	tables := map[string]*table{}
	titles := map[string]string{}
	for _, p := range c.Points {
		t := tables[p.Measurement]
		if t == nil {
			t = &table{head: append([]string{}, c.Parameters...), words: len(c.Parameters) + 1}
			t.head = append(t.head, "", "first", "other", "difference", "95 % interval", "ratio", "significant")
			names, tables[p.Measurement], titles[p.Measurement] = append(names, p.Measurement), t, withUnit(p.Measurement, p.Unit)
		}
		t.add(c.row(p, o)...)
	}
	for _, name := range names {
		fmt.Fprintf(out, "\n%s\n", titles[name])
		if err := tables[name].write(out, "  "); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%d of %d differences are significant at 5 %%; of %d that are none, chance would find %s\n",
		c.Significant, c.Intervals, c.Intervals, number(float64(c.Intervals)/20))
	for _, text := range c.Only {
		fmt.Fprintln(out, text)
	}
	return out.Flush()
}

// letter names a result in a table.
func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return strconv.Itoa(i + 1)
}

func (c *Comparison) row(p Compared, o TextOptions) []string {
	row := append(p.texts(c.Parameters), letter(p.other)+" - A")
	ratio, significant := absent, o.paint(yellow, "one run")
	if p.Ratio != nil {
		ratio = number(*p.Ratio)
	}
	switch {
	case p.First.Runs == 0 || p.Other.Runs == 0:
		significant = o.paint(yellow, "no values")
	case p.Significant != nil && *p.Significant:
		significant = o.paint(green, "yes")
	case p.Significant != nil:
		significant = "no"
	}
	return append(row, number(p.First.Mean), number(p.Other.Mean), number(p.Difference.Value), interval(p.Difference.Interval), ratio, significant)
}

// texts are the settings in the order of some parameters.
func (p *Compared) texts(parameters []string) []string {
	row := make([]string, len(parameters))
	for i, name := range parameters {
		for _, s := range p.Settings {
			if s.Parameter == name {
				row[i] = s.Value.Text
			}
		}
	}
	return row
}

// WriteJSON writes the whole comparison.
func (c *Comparison) WriteJSON(w io.Writer) error { return writeJSON(w, c) }

// WriteCSV writes a row for each difference, with all digits.
func (c *Comparison) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := append([]string{}, c.Parameters...)
	if err := out.Write(append(head, "measurement", "unit", "first", "other", "first_mean", "first_runs", "other_mean", "other_runs",
		"difference", "low", "high", "ratio", "significant")); err != nil {
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
		row := append(p.texts(c.Parameters), p.Measurement, p.Unit, c.Results[0], p.With, exact(p.First.Mean), strconv.Itoa(p.First.Runs),
			exact(p.Other.Mean), strconv.Itoa(p.Other.Runs), exact(p.Difference.Value), exact(p.Difference.Interval.Low),
			exact(p.Difference.Interval.High), ratio, significant)
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
