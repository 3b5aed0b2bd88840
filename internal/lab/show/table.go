package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// table is text in aligned columns. The first so many columns are words, and aligned left; the others are figures.
type table struct {
	head  []string
	rows  [][]string
	words int
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the table behind an indent.
func (t *table) write(w io.Writer, indent string) error {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
	}
	for _, row := range append([][]string{t.head}, t.rows...) {
		var line strings.Builder
		for i, cell := range row {
			gap := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
			if i > 0 {
				line.WriteString("  ")
			}
			if i < t.words {
				line.WriteString(cell + gap)
			} else {
				line.WriteString(gap + cell)
			}
		}
		if _, err := fmt.Fprintln(w, indent+strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
