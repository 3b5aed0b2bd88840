package screen

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// WriteTable writes the rows as plain text, below a line with the time and the state of the
// observation. The text has no colour and no cursor movement. With width 0, as for pipes and logs,
// all columns are written and nothing is cut; otherwise the most important columns that fit.
func WriteTable(w io.Writer, at time.Time, s Status, rows []*Row, width int) error {
	cells := make([][]string, len(rows)+1)
	least := make([]int, len(columns))
	wants := make([]int, len(columns))
	for i := range cells {
		cells[i] = make([]string, len(columns))
	}
	names := leasts(width)
	for j, c := range columns {
		cells[0][j] = c.title
		for i, r := range rows {
			cells[i+1][j] = c.text(r)
		}
		for i := range cells {
			// Without blanks, awk and cut find the columns.
			cells[i][j] = strings.ReplaceAll(cells[i][j], " ", "_")
			wants[j] = max(wants[j], ansi.StringWidth(cells[i][j]))
		}
		least[j] = min(names[j], wants[j])
	}
	if width <= 0 {
		least = wants
	}
	limit := width
	for _, n := range wants {
		if width <= 0 {
			limit += n + 1
		}
	}
	out := bufio.NewWriter(w)
	head := fmt.Sprintf("%s  %s  %s  %s samples/s  %s", at.Format("2006-01-02 15:04:05.000"),
		orDash(Text(s.Source)), units.Count(s.Flows, "flow"), scaledText(s.SamplesPerSecond), s.lossText())
	fmt.Fprintln(out, comment(head, width))
	for i := range s.Radios {
		fmt.Fprintln(out, comment(s.Radios[i].Brief(), width))
	}
	shown := fit(limit, least, wants)
	for _, row := range cells {
		texts := make([]string, len(shown))
		for i, c := range shown {
			texts[i] = cell(row[c.index], c.width, c.right)
		}
		fmt.Fprintln(out, strings.TrimRight(strings.Join(texts, " "), " "))
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing table: %w", err)
	}
	return nil
}

// comment marks each line of a text for programs that read the table, and breaks it to fit a width.
func comment(text string, width int) string {
	const mark = "# "
	if width > 0 {
		text = terminal.Wrap(text, max(1, width-len(mark)), 0)
	}
	return mark + strings.ReplaceAll(text, "\n", "\n"+mark)
}
