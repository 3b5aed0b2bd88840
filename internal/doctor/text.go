package doctor

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ANSI colours by outcome.
const (
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	bold   = "\x1b[1m"
	plain  = "\x1b[0m"
)

var (
	statusColours  = map[Status]string{OK: green, Limited: yellow, Unknown: yellow, Missing: red, Refused: red}
	verdictColours = map[Verdict]string{Ready: green, Degraded: yellow, CannotRun: red}
	verdictWords   = map[Verdict]string{Ready: "ready", Degraded: "degraded", CannotRun: "cannot run"}
)

// WriteText writes the report for people: the machine, the verdict on each verb, then every check
// by group. Colour is for terminals; the caller decides it (NO_COLOR).
func (r *Report) WriteText(w io.Writer, colour bool) error {
	out := bufio.NewWriter(w)
	paint := func(code, text string) string {
		if !colour {
			return text
		}
		return code + text + plain
	}
	m := r.Machine
	user := fmt.Sprintf("user %d", m.UserID)
	if m.UserID == 0 {
		user = "root"
	}
	fmt.Fprintf(out, "Linux %s %s, %s, %d CPUs, %.1f GiB, %s\n\n",
		m.KernelRelease, m.Architecture, m.Distribution, m.CPUs, float64(m.MemoryBytes)/(1<<30), user)

	fmt.Fprintln(out, paint(bold, "verbs"))
	rights := false
	for _, alike := range r.alike() {
		v := alike[0]
		names := make([]string, len(alike))
		for i := range alike {
			names[i] = string(alike[i].Verb)
		}
		verdict := paint(verdictColours[v.Verdict], fmt.Sprintf("%-10s", verdictWords[v.Verdict]))
		fmt.Fprintf(out, "  %s  %s%s\n", verdict, strings.Join(names, ", "), v.note())
		for _, line := range r.lackLines(v.Lacks) {
			fmt.Fprintf(out, "  %10s  - %s\n", "", line)
		}
		rights = rights || slices.ContainsFunc(v.Lacks, r.isRight)
	}
	if rights {
		fmt.Fprintf(out, "  rights      remedy: %s\n", rootRemedy)
	}
	for _, g := range groups {
		fmt.Fprintf(out, "\n%s\n", paint(bold, string(g)))
		for _, c := range r.Checks {
			if c.Group != g {
				continue
			}
			status := fmt.Sprintf("%-7s", c.Status)
			// Missing abilities that no verb needs are not coloured.
			if c.Status == OK || len(c.NeededBy) > 0 {
				status = paint(statusColours[c.Status], status)
			}
			fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("  %s  %-22s %s", status, c.Name, c.Detail), " "))
		}
	}
	if !r.Usable() {
		fmt.Fprintf(out, "\n%s\n", paint(red, "no verb that needs the kernel can run here"))
	}
	return out.Flush()
}

// alike groups the verbs that have the same verdict, way and lacks, so that each text appears once.
func (r *Report) alike() [][]VerbResult {
	var sets [][]VerbResult
	for _, v := range r.Verbs {
		i := slices.IndexFunc(sets, func(set []VerbResult) bool {
			of := set[0]
			return of.Verdict == v.Verdict && of.Way == v.Way && of.idle == v.idle && slices.Equal(of.Lacks, v.Lacks)
		})
		if i < 0 {
			sets = append(sets, []VerbResult{v})
		} else {
			sets[i] = append(sets[i], v)
		}
	}
	return sets
}

// note describes the way in which a verb runs, and its loss.
func (v *VerbResult) note() string {
	switch {
	case v.idle:
		return ": needs nothing of the kernel"
	case v.Way == "":
		return ""
	case v.Loss == "":
		return " by source " + string(v.Way)
	}
	return " by source " + string(v.Way) + ": " + v.Loss
}

// isRight reports whether a lack is a missing capability.
func (r *Report) isRight(l Lack) bool {
	c, _ := r.Check(l.Check)
	return c.Group == groupPrivileges && l.Status == Missing
}

// lackLines describes the loss and the remedy of each lack. Missing capabilities share the first
// line, because their group describes them, and untested checks share the last.
func (r *Report) lackLines(lacks []Lack) []string {
	var lines, rights, untried []string
	for _, l := range lacks {
		c, _ := r.Check(l.Check)
		switch {
		case r.isRight(l):
			rights = append(rights, l.Check)
		case l.Status == Unknown:
			untried = append(untried, l.Check)
		case c.Remedy == "":
			lines = append(lines, l.Check+": "+l.Loss)
		default:
			lines = append(lines, l.Check+": "+l.Loss+" (remedy: "+c.Remedy+")")
		}
	}
	if len(rights) > 0 {
		lines = slices.Insert(lines, 0, "lacks the rights "+strings.Join(rights, ", "))
	}
	if len(untried) > 0 {
		lines = append(lines, "not tested: "+strings.Join(untried, ", "))
	}
	return lines
}
