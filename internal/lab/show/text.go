package show

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// TextOptions change the text of a report.
type TextOptions struct {
	// Colour marks outcomes and titles, for terminals.
	Colour bool
	// Width is the number of columns of the terminal, 0 for no limit.
	Width int
	// Each adds the values of each flow or terminal, even for measurements that combine them.
	Each bool
}

const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (o TextOptions) paint(colour, text string) string {
	if !o.Colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// maxListed is the largest number of missing runs and failed attempts in a list.
const maxListed = 10

// WriteText writes the finished and missing runs, the measurements and the claims.
func WriteText(w io.Writer, r *report.Report, o TextOptions) error {
	out := &bytes.Buffer{}
	fmt.Fprintln(out, units.Printable(joined(": ", r.Experiment, r.Title)))
	if r.Source != "" {
		fmt.Fprintf(out, "repeats %s\n", units.Printable(r.Source))
	}
	fmt.Fprintln(out, r.Dir)
	writeRuns(out, r, o)
	for i, m := range r.Plan().Experiment.Measure.Names() {
		fmt.Fprintln(out)
		if err := writeMeasurement(out, r, i, m, o); err != nil {
			return err
		}
	}
	writeClaims(out, r, o)
	return writePrintable(w, bytes.NewBufferString(terminal.Wrap(out.String(), o.Width, 2)), o)
}

// writePrintable writes a text and replaces its control characters, because titles, names and
// reasons may come from another person's files.
func writePrintable(w io.Writer, text *bytes.Buffer, o TextOptions) error {
	_, err := io.WriteString(w, units.PrintableText(text.String(), o.Colour))
	return err
}

// joined joins the texts that are not empty.
func joined(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), separator)
}

// writeRuns counts the finished runs and lists the missing and failed ones.
func writeRuns(out io.Writer, r *report.Report, o TextOptions) {
	fmt.Fprintf(out, "%d of %s finished, at %s\n", r.Runs.Finished, units.Count(r.Runs.Planned, "run"),
		units.Count(len(r.Points), "point"))
	list := func(name string, texts []string) {
		for i, text := range texts {
			if i == maxListed {
				fmt.Fprintf(out, "  and %d more\n", len(texts)-i)
				return
			}
			fmt.Fprintf(out, "  %s %s\n", o.paint(yellow, name), units.Printable(strings.ReplaceAll(text, "\n", " ")))
		}
	}
	list("missing:", r.Runs.Missing)
	list("unreadable:", r.Runs.Unreadable)
	var failures []string
	for _, f := range r.Runs.Failures {
		failures = append(failures, fmt.Sprintf("%s, attempt %d: %s", f.Run, f.Attempt, f.Reason))
	}
	list("failed:", failures)
	list("warning:", r.Warnings)
}

// words and figures return columns of texts and of numbers.
func words(titles ...string) (columns []terminal.Column) {
	for _, t := range titles {
		columns = append(columns, terminal.Column{Title: t})
	}
	return columns
}

func figures(titles ...string) (columns []terminal.Column) {
	for _, t := range titles {
		columns = append(columns, terminal.Column{Title: t, Right: true})
	}
	return columns
}

// writeMeasurement writes the table of one measurement: a row for each point, and below it a row
// for each of its flows or terminals.
func writeMeasurement(out io.Writer, r *report.Report, i int, name string, o TextOptions) error {
	each := false
	jain := false
	for _, p := range r.Points {
		m := p.Measurements[i]
		each = each || len(m.Each) > 0 && (o.Each || m.Take == plan.Each)
		jain = jain || m.Jain != nil
	}
	fmt.Fprintln(out, measurementTitle(name, &r.Points[0].Measurements[i]))
	t := &terminal.Table{Indent: "  ", Columns: words(r.Parameters...)}
	if each {
		t.Columns = append(t.Columns, words("of")...)
	}
	numbers := figures("mean", "sd", "median", "95 % interval", "runs")
	if jain {
		numbers = append(numbers, figures("Jain")...)
	}
	for i, leave := range []int{0, 5, 4, 1, 3, 2}[:len(numbers)] { // the mean always stays
		numbers[i].Optional = leave
	}
	t.Columns = append(t.Columns, numbers...)
	for _, p := range r.Points {
		if p.Runs == 0 && r.Runs.Finished > 0 {
			continue // the list of missing runs has it
		}
		m := p.Measurements[i]
		row := texts(&p)
		if each {
			of := string(m.Take)
			if m.Take == plan.Each {
				of = "mean"
			}
			row = append(row, of)
		}
		row = append(row, summaryCells(m.Summary)...)
		if jain {
			row = append(row, jainCell(m.Jain))
		}
		t.Add(row...)
		if !each {
			continue
		}
		for _, e := range m.Each {
			row := append(make([]string, len(r.Parameters)), e.Of)
			t.Add(append(row, summaryCells(e.Summary)...)...)
		}
	}
	return t.Write(out, o.Width, o.Colour)
}

// measurementTitle returns the name of a measurement with its unit, its quantity and its values.
func measurementTitle(name string, m *report.Measurement) string {
	title := withUnit(name, m.Unit)
	if string(m.Quantity) != name {
		title += ", " + string(m.Quantity)
	}
	if m.Take != plan.Each {
		title += fmt.Sprintf(", %s of a run", m.Take)
	}
	return title
}

// texts returns the settings of the point.
func texts(p *report.Point) []string {
	var texts []string
	for _, s := range p.Settings {
		texts = append(texts, s.Value.Text)
	}
	return texts
}

func summaryCells(s judge.Summary) []string {
	return []string{number(s.Mean), number(s.SD), number(s.Median), interval(s.Interval), fmt.Sprint(s.Runs)}
}

func jainCell(s *judge.Summary) string {
	if s == nil {
		return absent
	}
	return number(s.Mean)
}

// writeClaims writes each claim with the source's words, its verdict and its figures.
func writeClaims(out io.Writer, r *report.Report, o TextOptions) {
	if len(r.Claims) == 0 {
		return
	}
	counts := map[judge.Outcome]int{}
	for _, c := range r.Claims {
		counts[c.Verdict.Outcome]++
	}
	fmt.Fprintf(out, "\nclaims: %d held, %d not held, %d not decided\n",
		counts[judge.Held], counts[judge.NotHeld], counts[judge.NotDecided])
	colours := map[judge.Outcome]string{judge.Held: green, judge.NotHeld: red, judge.NotDecided: yellow}
	for _, c := range r.Claims {
		outcome := fmt.Sprintf("%-11s", c.Verdict.Outcome)
		fmt.Fprintf(out, "  %s %s\n", o.paint(colours[c.Verdict.Outcome], outcome), c.Name)
		fmt.Fprintf(out, "      %s\n", units.Printable(joined(", ", fmt.Sprintf("%q", c.Says), c.Where)))
		for _, comparison := range c.Verdict.Comparisons {
			fmt.Fprintf(out, "      %s\n", units.Printable(comparison.Text))
		}
	}
}

// WriteJSON writes a report or a comparison.
func WriteJSON(w io.Writer, value any) error {
	e := units.NewJSONEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}
