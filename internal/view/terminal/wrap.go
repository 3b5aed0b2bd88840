package terminal

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// PrintWrapped prints a text whose lines are broken between words to fit the width. Continued
// lines are indented.
func (t *Terminal) PrintWrapped(text string, indent int) error {
	return t.Print([]byte(Wrap(text, t.Width, indent)))
}

// Wrap breaks the lines of a text between words to fit a width; 0 is no limit. Continued lines are
// indented, by a quarter of the width at most.
func Wrap(text string, width, indent int) string {
	if width <= 0 {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		whole := strings.TrimSuffix(line, "\n")
		out.WriteString(wrap(whole, width, min(indent, width/4)) + line[len(whole):])
	}
	return out.String()
}

func wrap(line string, width, indent int) string {
	var lines []string
	for prefix := ""; ; prefix = strings.Repeat(" ", indent) {
		end := fitting(line, width-len(prefix))
		if end == len(line) {
			return strings.Join(append(lines, prefix+line), "\n")
		}
		if at := strings.LastIndexByte(line[:end+1], ' '); strings.TrimSpace(line[:max(at, 0)]) != "" {
			end = at
		}
		lines = append(lines, prefix+strings.TrimRight(line[:end], " "))
		line = strings.TrimLeft(line[end:], " ")
	}
}

// fitting is the length in bytes of the part of a line that fits a width. It is never 0, so that
// the rest gets shorter.
func fitting(line string, width int) int {
	used, at := 0, 0
	for state := byte(0); at < len(line); {
		_, columns, length, next := ansi.DecodeSequence(line[at:], state, nil)
		if used += columns; used > width && at > 0 {
			return at
		}
		at, state = at+length, next
	}
	return at
}
