package screen

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// WriteTable writes all columns of the rows as plain text, below a line with the time and the state
// of the observation. Columns are as wide as their contents. The text suits pipes and logs: it has
// no colour and no cursor movement, and nothing is cut.
func WriteTable(w io.Writer, at time.Time, s Status, rows []*Row) error {
	cells := make([][]string, len(rows))
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = ansi.StringWidth(plainTitle(c))
	}
	for i, r := range rows {
		cells[i] = make([]string, len(columns))
		for j, c := range columns {
			cells[i][j] = c.text(r)
			widths[j] = max(widths[j], ansi.StringWidth(cells[i][j]))
		}
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s  %s  %d flows  %s samples/s  %s\n", at.Format("2006-01-02 15:04:05.000"),
		orDash(Text(s.Source)), s.Flows, scaledText(s.SamplesPerSecond), s.lossText())
	writeLine(out, widths, func(j int) string { return plainTitle(columns[j]) })
	for i := range cells {
		writeLine(out, widths, func(j int) string { return cells[i][j] })
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing table: %w", err)
	}
	return nil
}

// plainTitle has no blanks, so that awk and cut find the columns.
func plainTitle(c column) string { return strings.ReplaceAll(c.title, " ", "_") }

func writeLine(out *bufio.Writer, widths []int, text func(int) string) {
	var line strings.Builder
	for j, c := range columns {
		if j > 0 {
			line.WriteByte(' ')
		}
		line.WriteString(cell(strings.ReplaceAll(text(j), " ", "_"), widths[j], c.right))
	}
	out.WriteString(strings.TrimRight(line.String(), " "))
	out.WriteByte('\n')
}
