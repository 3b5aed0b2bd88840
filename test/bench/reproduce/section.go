package main

import (
	"fmt"
	"math"
	"strings"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/internal/units"
	"airtide/test/bench/benchlab"
)

// row is the experiment's line of the page's first table.
func row(e *plan.Plan, r *report.Report, paper bool) string {
	claims := map[judge.Outcome]int{}
	targets := map[judge.Outcome]int{}
	for _, c := range r.Claims {
		if paper && c.Where != "" {
			claims[c.Verdict.Outcome]++
		} else {
			targets[c.Verdict.Outcome]++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| [%[1]s](#%[1]s) | %[2]s |", e.Experiment.Name, benchlab.Cell(e.Experiment.Source))
	if paper {
		fmt.Fprintf(&b, " %d | %d | %d |", claims[judge.Held], claims[judge.NotHeld], claims[judge.NotDecided])
	}
	fmt.Fprintf(&b, " %d | %d | %d |", targets[judge.Held], targets[judge.NotHeld], targets[judge.NotDecided])
	fmt.Fprintf(&b, " %d of %d |\n", r.Runs.Finished, r.Runs.Planned)
	return b.String()
}

// section describes the experiment, its claims with their figures, and its measurements.
// If paper is set, claims that name a place in the paper have a table of their own.
func section(e *plan.Plan, r *report.Report, machine string, paper bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s. Source: %s.\n\n%s",
		e.Experiment.Name, e.Experiment.Title, e.Experiment.Source, wrapped(e.Experiment.Notes))
	fmt.Fprintf(&b, "%s; %d of %d runs", machine, r.Runs.Finished, r.Runs.Planned)
	if n := len(r.Runs.Failures); n > 0 {
		fmt.Fprintf(&b, ", %s did not count", units.Count(n, "attempt"))
	}
	b.WriteString(".\n")
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "\n- %s", benchlab.Cell(w))
	}
	if len(r.Warnings) > 0 {
		b.WriteString("\n")
	}
	var claims, targets strings.Builder
	for _, c := range r.Claims {
		var texts []string
		for _, one := range c.Verdict.Comparisons {
			texts = append(texts, "`"+benchlab.Cell(one.Text)+"`")
		}
		measured := strings.Join(texts, "<br>")
		if paper && c.Where != "" {
			fmt.Fprintf(&claims, "| %s | %s | %s | %s |\n",
				benchlab.Cell(c.Says), benchlab.Cell(c.Where), measured, c.Verdict.Outcome)
		} else {
			fmt.Fprintf(&targets, "| %s | %s | %s |\n", benchlab.Cell(c.Says), measured, c.Verdict.Outcome)
		}
	}
	if claims.Len() > 0 {
		head := tableHead([]string{"claim of the paper", "place", "measured", "verdict"})
		b.WriteString("\n" + head + claims.String())
	}
	if targets.Len() > 0 {
		b.WriteString("\n" + tableHead([]string{"our target", "measured", "verdict"}) + targets.String())
	}
	b.WriteString(measurements(r))
	return b.String()
}

// wrapped returns a paragraph in lines of at most 100 bytes, and an empty line after it. Without
// text it is empty.
func wrapped(text string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > 100:
			b.WriteString("\n")
			column = 0
		default:
			b.WriteString(" ")
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	if column > 0 {
		b.WriteString("\n\n")
	}
	return b.String()
}

// measurements has a row for each point: mean and standard deviation over the runs.
func measurements(r *report.Report) string {
	var b strings.Builder
	head := append([]string{}, r.Parameters...)
	for _, m := range r.Points[0].Measurements {
		name := m.Name
		if m.Unit != "" {
			name += ", " + m.Unit
		}
		head = append(head, name)
		if m.Jain != nil {
			head = append(head, "Jain's index of "+m.Name)
		}
	}
	b.WriteString("\n" + tableHead(head))
	for _, p := range r.Points {
		var cells []string
		for _, s := range p.Settings {
			cells = append(cells, benchlab.Cell(s.Value.Text))
		}
		for i, m := range p.Measurements {
			cells = append(cells, summary(m))
			if r.Points[0].Measurements[i].Jain != nil {
				cells = append(cells, meanAndSD(m.Jain))
			}
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// summary is the mean over the runs, of each flow or terminal where they are kept apart.
func summary(m report.Measurement) string {
	if m.Take != plan.Each || len(m.Each) < 2 {
		return meanAndSD(&m.Summary)
	}
	var each []string
	for _, e := range m.Each {
		each = append(each, fmt.Sprintf("%s %s", benchlab.Cell(e.Of), meanAndSD(&e.Summary)))
	}
	return strings.Join(each, "<br>")
}

// meanAndSD is mean (standard deviation) with four digits.
func meanAndSD(s *judge.Summary) string {
	switch {
	case s == nil || math.IsNaN(s.Mean):
		return "-"
	case math.IsNaN(s.SD):
		return fmt.Sprintf("%.4g", s.Mean)
	}
	return fmt.Sprintf("%.4g (%.2g)", s.Mean, s.SD)
}
