package show

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
)

// TextOptions change how a report is written for people.
type TextOptions struct {
	// Colour marks outcomes; for terminals only.
	Colour bool
	// Each adds the values by flow or terminal of all measurements, also of those that take them together.
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

// maxListed is how many missing runs and failed attempts are told one by one.
const maxListed = 10

// WriteText writes what runs there are, the measurements and the claims.
func (r *Report) WriteText(w io.Writer, o TextOptions) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, strings.Join(filled(r.Experiment, r.Title), ": "))
	if r.Source != "" {
		fmt.Fprintf(out, "repeats %s\n", r.Source)
	}
	fmt.Fprintln(out, r.Dir)
	r.writeRuns(out, o)
	for i, m := range r.plan.Experiment.Measure.Names() {
		fmt.Fprintln(out)
		if err := r.writeMeasurement(out, i, m, o); err != nil {
			return err
		}
	}
	r.writeClaims(out, o)
	return out.Flush()
}

func filled(texts ...string) []string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return out
}

// writeRuns tells what the figures rest on, and what is missing.
func (r *Report) writeRuns(out io.Writer, o TextOptions) {
	fmt.Fprintf(out, "%d of %d runs finished, at %d points\n", r.Runs.Finished, r.Runs.Planned, len(r.Points))
	list := func(what string, texts []string) {
		for i, text := range texts {
			if i == maxListed {
				fmt.Fprintf(out, "  and %d more\n", len(texts)-i)
				return
			}
			fmt.Fprintf(out, "  %s %s\n", o.paint(yellow, what), strings.ReplaceAll(text, "\n", " "))
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

// writeMeasurement writes the table of one measurement: a row for each point, and below it those of its flows or
// terminals.
func (r *Report) writeMeasurement(out io.Writer, i int, name string, o TextOptions) error {
	first := r.Points[0].Measurements[i]
	each, jain := false, false
	for _, p := range r.Points {
		m := p.Measurements[i]
		each = each || len(m.Each) > 0 && (o.Each || m.Take == plan.Each)
		jain = jain || m.Jain != nil
	}
	title := withUnit(name, first.Unit)
	if string(first.Quantity) != name {
		title += ", " + string(first.Quantity)
	}
	if first.Take != plan.Each {
		title += fmt.Sprintf(", %s of a run", first.Take)
	}
	fmt.Fprintln(out, title)

	t := table{head: append([]string{}, r.Parameters...), words: len(r.Parameters)}
	if each {
		t.head, t.words = append(t.head, "of"), t.words+1
	}
	t.head = append(t.head, "mean", "sd", "median", "95 % interval", "runs")
	if jain {
		t.head = append(t.head, "Jain")
	}
	for _, p := range r.Points {
		m := p.Measurements[i]
		row := p.texts()
		if each {
			row = append(row, map[bool]string{true: "mean", false: string(m.Take)}[m.Take == plan.Each])
		}
		row = append(row, figures(m.Summary)...)
		if jain {
			row = append(row, jainText(m.Jain))
		}
		t.add(row...)
		if !each {
			continue
		}
		for _, e := range m.Each {
			row := append(make([]string, len(r.Parameters)), e.Of)
			row = append(row, figures(e.Summary)...)
			if jain {
				row = append(row, "")
			}
			t.add(row...)
		}
	}
	return t.write(out, "  ")
}

func (p *Point) texts() []string {
	var texts []string
	for _, s := range p.Settings {
		texts = append(texts, s.Value.Text)
	}
	return texts
}

func figures(s judge.Summary) []string {
	return []string{number(s.Mean), number(s.SD), number(s.Median), interval(s.Interval), fmt.Sprint(s.Runs)}
}

func jainText(s *judge.Summary) string {
	if s == nil {
		return absent
	}
	return number(s.Mean)
}

// writeClaims writes each claim with the source's words and the figures behind its verdict.
func (r *Report) writeClaims(out io.Writer, o TextOptions) {
	if len(r.Claims) == 0 {
		return
	}
	counts := map[judge.Outcome]int{}
	for _, c := range r.Claims {
		counts[c.Verdict.Outcome]++
	}
	fmt.Fprintf(out, "\nclaims: %d held, %d not held, %d not decided\n", counts[judge.Held], counts[judge.NotHeld], counts[judge.NotDecided])
	colours := map[judge.Outcome]string{judge.Held: green, judge.NotHeld: red, judge.NotDecided: yellow}
	for _, c := range r.Claims {
		fmt.Fprintf(out, "  %s %s\n", o.paint(colours[c.Verdict.Outcome], fmt.Sprintf("%-11s", c.Verdict.Outcome)), c.Name)
		says := fmt.Sprintf("%q", c.Says)
		if c.Where != "" {
			says += ", " + c.Where
		}
		fmt.Fprintf(out, "      %s\n", says)
		for _, comparison := range c.Verdict.Comparisons {
			fmt.Fprintf(out, "      %s\n", comparison.Text)
		}
	}
}

// WriteJSON writes the whole report.
func (r *Report) WriteJSON(w io.Writer) error { return writeJSON(w, r) }

func writeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}
