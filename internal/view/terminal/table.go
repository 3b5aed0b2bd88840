package terminal

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"airtide/internal/units"
)

// Column is a column of a table.
type Column struct {
	Title string // several lines if it contains "\n"
	Right bool   // aligned to the right, as figures are
	// Optional columns are left out if the table is too wide, the greatest number first. 0 stays.
	Optional int
	// Least is the width to which cells may be cut. If it is 0, cells are never cut.
	Least int
	// Endpoint cells are an address and a port. Only the address is cut.
	Endpoint bool
}

// LeastEndpoint is the least width of endpoints: a part of the address, and the port.
const LeastEndpoint = 11 // "10.1…:65535"

// Table is text in aligned columns. It leaves out and cuts columns to fit a width.
type Table struct {
	Columns []Column
	Indent  string
	rows    [][]string
}

const gap = "  "

// Add appends a row. Missing cells are empty. Characters that a terminal could obey become "?",
// except sequences that set a colour.
func (t *Table) Add(cells ...string) {
	for i, cell := range cells {
		cells[i] = units.PrintableText(strings.ReplaceAll(cell, "\n", " "), true)
	}
	t.rows = append(t.rows, append(cells, make([]string, max(0, len(t.Columns)-len(cells)))...))
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Table prints a table that fits the terminal.
func (t *Terminal) Table(table *Table) error {
	return table.Write(t.Out, t.Width, t.Colour)
}

// Write prints the table within a width; 0 is no limit. With colour, titles are bold.
func (t *Table) Write(w io.Writer, width int, colour bool) error {
	head := t.head()
	shown, widths := t.fit(head, width)
	out := bufio.NewWriter(w)
	line := func(cells []string) string {
		texts := make([]string, len(shown))
		for i, c := range shown {
			text := t.Columns[c].cut(cells[c], widths[i])
			pad := strings.Repeat(" ", widths[i]-ansi.StringWidth(text))
			if t.Columns[c].Right {
				texts[i] = pad + text
			} else {
				texts[i] = text + pad
			}
		}
		return strings.TrimRight(t.Indent+strings.Join(texts, gap), " ")
	}
	for _, titles := range head {
		text := line(titles)
		if colour {
			text = "\x1b[1m" + text + "\x1b[0m"
		}
		fmt.Fprintln(out, text)
	}
	for _, row := range t.rows {
		fmt.Fprintln(out, line(row))
	}
	return out.Flush()
}

// cut shortens a cell to a width.
func (c *Column) cut(cell string, width int) string {
	const sign = "…"
	if at := strings.LastIndexByte(cell, ':'); c.Endpoint && at >= 0 && ansi.StringWidth(cell) > width {
		port := cell[at:]
		return ansi.Truncate(cell[:at], max(1, width-len(port)), sign) + port
	}
	return ansi.Truncate(cell, width, sign)
}

// head is the lines of the titles. A table without titles has none.
func (t *Table) head() [][]string {
	var lines [][]string
	for c, column := range t.Columns {
		for i, title := range strings.Split(column.Title, "\n") {
			if i == len(lines) {
				lines = append(lines, make([]string, len(t.Columns)))
			}
			lines[i][c] = title
		}
	}
	if len(lines) == 1 && !slices.ContainsFunc(lines[0], func(s string) bool { return s != "" }) {
		return nil
	}
	return lines
}

// fit chooses the columns that are shown and their widths.
func (t *Table) fit(head [][]string, limit int) (shown, widths []int) {
	natural := make([]int, len(t.Columns))
	for _, row := range slices.Concat(head, t.rows) {
		for c := range t.Columns {
			natural[c] = max(natural[c], ansi.StringWidth(row[c]))
		}
	}
	for c := range t.Columns {
		shown = append(shown, c)
	}
	for {
		widths = widths[:0]
		sum := ansi.StringWidth(t.Indent) - len(gap)
		for _, c := range shown {
			widths = append(widths, natural[c])
			sum += natural[c] + len(gap)
		}
		if limit == 0 || sum <= limit || t.cut(shown, widths, sum-limit) {
			return shown, widths
		}
		victim := 0
		for i, c := range shown {
			if t.Columns[c].Optional > t.Columns[shown[victim]].Optional {
				victim = i
			}
		}
		if t.Columns[shown[victim]].Optional == 0 {
			return shown, widths // nothing more can be left out
		}
		shown = slices.Delete(shown, victim, victim+1)
	}
}

// cut takes an excess from the widest columns that may be cut, and reports whether that suffices.
func (t *Table) cut(shown, widths []int, excess int) bool {
	for ; excess > 0; excess-- {
		widest := -1
		for i, c := range shown {
			least := t.Columns[c].Least
			if least > 0 && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return false
		}
		widths[widest]--
	}
	return true
}
