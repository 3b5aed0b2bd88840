package show

import (
	"bytes"
	"fmt"
	"io"
	"strconv"

	"airtide/internal/lab/report"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// WriteComparison writes a table for each measurement.
func WriteComparison(w io.Writer, c *report.Comparison, o TextOptions) error {
	out := &bytes.Buffer{}
	for i, dir := range c.Results {
		fmt.Fprintf(out, "%s  %s\n", letter(i), dir)
	}
	var titles []string
	tables := map[string]*terminal.Table{} // by title
	for _, p := range c.Points {
		title := withUnit(p.Measurement, p.Unit)
		if tables[title] == nil {
			titles = append(titles, title)
			tables[title] = newTable(c)
		}
		tables[title].Add(row(c, p, o)...)
	}
	for _, title := range titles {
		fmt.Fprintf(out, "\n%s\n", title)
		if err := tables[title].Write(out, o.Width, o.Colour); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%d of %d differences are significant at 5 %%; "+
		"if there were none, chance would find %s\n",
		c.Significant, c.Intervals, number(float64(c.Intervals)/20))
	for _, text := range c.Only {
		fmt.Fprintln(out, units.Printable(text))
	}
	return writePrintable(w, out, o)
}

func newTable(c *report.Comparison) *terminal.Table {
	t := &terminal.Table{Indent: "  ", Columns: append(words(c.Parameters...), words("")...)}
	numbers := figures("first", "other", "difference", "95 % interval", "ratio", "significant")
	t.Columns = append(t.Columns, numbers...)
	return t
}

// letter returns the letter of a result in a table.
func letter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return strconv.Itoa(i + 1)
}

func row(c *report.Comparison, p report.Compared, o TextOptions) []string {
	ratio := absent
	significant := o.paint(yellow, "one run")
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
	return append(textsOf(&p, c.Parameters), letter(p.Index)+" - A", number(p.First.Mean), number(p.Other.Mean),
		number(p.Difference.Value), interval(p.Difference.Interval), ratio, significant)
}

// textsOf returns the settings in the order of some parameters.
func textsOf(p *report.Compared, parameters []string) []string {
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
