package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"airtide/test/bench/benchtext"
)

// table is the results in Markdown: a row for each part, a column for each guest.
func table(results []*result) string {
	var b strings.Builder
	line := func(first string, text func(*result) string) {
		fmt.Fprintf(&b, "| %s |", first)
		for _, r := range results {
			fmt.Fprintf(&b, " %s |", text(r))
		}
		b.WriteByte('\n')
	}
	line("", func(r *result) string { return r.guest.version + " " + r.guest.architecture })
	line("---", func(*result) string { return "---" })
	line("kernel", func(r *result) string { return known(r.release) })
	var rows []string
	for _, p := range parts {
		rows = append(rows, p.name)
	}
	for _, row := range append(rows, doctorRow, logRow) {
		if slices.ContainsFunc(results, func(r *result) bool { return r.cells[row].text != "" }) {
			line(row, func(r *result) string { return known(r.cells[row].text) })
		}
	}
	line("booted within", func(r *result) string { return fmt.Sprintf("%.0f s", r.booted.Seconds()) })
	line("processors' time", func(r *result) string { return fmt.Sprintf("%.0f s", r.seconds) })
	for _, r := range results {
		if r.err != nil {
			r.note("as a whole", "%v", r.err)
		}
		for i, n := range r.notes {
			if i == 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "- %s\n", n)
		}
	}
	return b.String()
}

// tookText gives the table's date and duration. The duration is no row, since guests run beside
// each other.
func tookText(began, ended time.Time, results []*result) string {
	var seconds float64
	for _, r := range results {
		seconds += r.seconds
	}
	return fmt.Sprintf("\n%s: one run of %.1f minutes from end to end on %d processors, with %.1f minutes of the "+
		"processors' time in guests.\n",
		began.UTC().Format(time.DateOnly), ended.Sub(began).Minutes(), runtime.NumCPU(), seconds/60)
}

func known(text string) string {
	if text == "" {
		return "not tried"
	}
	return text
}

// The table's place in the page.
const (
	tableBegin = "<!-- table begin: make test-kernels -->\n"
	tableEnd   = "<!-- table end -->\n"
)

// writeTable writes the table into a page anew.
func writeTable(page, text string) error {
	return benchtext.WriteTable(page, tableBegin, tableEnd, text)
}
