package main

import (
	"fmt"
	"math"
	"strings"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/show"
	"airtide/test/bench/benchlab"
)

// row is the experiment's line of the page's first table.
func row(e *plan.Plan, r *show.Report) string {
	n := map[judge.Outcome]int{}
	for _, c := range r.Claims {
		n[c.Verdict.Outcome]++
	}
	return fmt.Sprintf("| [%[1]s](#%[1]s) | %[2]s | %[3]d | %[4]d | %[5]d | %[6]d of %[7]d |\n", e.Experiment.Name, benchlab.Cell(e.Experiment.Source),
		n[judge.Held], n[judge.NotHeld], n[judge.NotDecided], r.Runs.Finished, r.Runs.Planned)
}

// section is what the experiment is, its claims with their figures, and its measurements.
func section(e *plan.Plan, r *show.Report, machine string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s. Repeats %s.\n\n%s\n\n", e.Experiment.Name, e.Experiment.Title, e.Experiment.Source, strings.TrimSpace(e.Experiment.Notes))
	fmt.Fprintf(&b, "%s; %d of %d runs", machine, r.Runs.Finished, r.Runs.Planned)
	if n := len(r.Runs.Failures); n > 0 {
		fmt.Fprintf(&b, ", %d attempts did not count", n)
	}
	b.WriteString(".\n")
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "\n- %s", benchlab.Cell(w))
	}
	if len(r.Warnings) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("\n| what the paper says, or what is to be reached | where | measured | |\n|---|---|---|---|\n")
	for _, c := range r.Claims {
		var texts []string
		for _, one := range c.Verdict.Comparisons {
			texts = append(texts, "`"+benchlab.Cell(one.Text)+"`")
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", benchlab.Cell(c.Says), benchlab.Cell(c.Where), strings.Join(texts, "<br>"), c.Verdict.Outcome)
	}
	b.WriteString(measurements(r))
	return b.String()
}

// measurements has a row for each point: mean and standard deviation over the runs.
func measurements(r *show.Report) string {
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
	fmt.Fprintf(&b, "\n| %s |\n%s|\n", strings.Join(head, " | "), strings.Repeat("|---", len(head)))
	for _, p := range r.Points {
		var cells []string
		for _, s := range p.Settings {
			cells = append(cells, benchlab.Cell(s.Value.Text))
		}
		for i, m := range p.Measurements {
			cells = append(cells, summary(m))
			if r.Points[0].Measurements[i].Jain != nil {
				cells = append(cells, figure(m.Jain))
			}
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// summary is the mean over the runs, of each flow or terminal where they are kept apart.
func summary(m show.Measurement) string {
	if m.Take != plan.Each || len(m.Each) < 2 {
		return figure(&m.Summary)
	}
	var each []string
	for _, e := range m.Each {
		each = append(each, fmt.Sprintf("%s %s", benchlab.Cell(e.Of), figure(&e.Summary)))
	}
	return strings.Join(each, "<br>")
}

// figure is mean (standard deviation) with four digits.
func figure(s *judge.Summary) string {
	switch {
	case s == nil || math.IsNaN(s.Mean):
		return "-"
	case math.IsNaN(s.SD):
		return fmt.Sprintf("%.4g", s.Mean)
	}
	return fmt.Sprintf("%.4g (%.2g)", s.Mean, s.SD)
}
