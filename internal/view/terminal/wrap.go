package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// PrintWrapped prints a text whose lines are broken between words to fit the width. Continued
// lines are indented.
func (t *Terminal) PrintWrapped(text string, indent int) error {
	if t.Width == 0 {
		return t.Print([]byte(text))
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(wrap(strings.TrimSuffix(line, "\n"), t.Width, min(indent, t.Width/4)) + "\n")
	}
	return t.Print([]byte(out.String()))
}

func wrap(line string, width, indent int) string {
	var lines []string
	for prefix := ""; ; prefix = strings.Repeat(" ", indent) {
		room := width - len(prefix)
		if ansi.StringWidth(line) <= room {
			return strings.Join(append(lines, prefix+line), "\n")
		}
		first := ansi.Truncate(line, room, "")
		at := strings.LastIndexByte(line[:min(len(first)+1, len(line))], ' ')
		if strings.TrimSpace(line[:max(at, 0)]) != "" {
			first = line[:at]
		}
		rest, found := strings.CutPrefix(line, first)
		if !found || first == "" {
			return strings.Join(append(lines, prefix+line), "\n")
		}
		lines = append(lines, prefix+first)
		line = strings.TrimLeft(rest, " ")
	}
}
