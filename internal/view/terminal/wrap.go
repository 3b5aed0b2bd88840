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

// paragraphWidth is the least length of a line that its author broke: its paragraph goes on below.
const paragraphWidth = 70

// WrapHelp breaks the lines of a help text between words to fit a width; 0 is no limit. Continued
// lines begin below their last column. Paragraphs that are wider are filled again.
func WrapHelp(text string, width int) string {
	if width <= 0 {
		return text
	}
	var out []string
	filled := false // the last line is a broken paragraph
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		prose := line != "" && line[0] != ' '
		if last := len(out) - 1; prose && filled {
			out[last] += " " + line
		} else {
			out = append(out, line)
		}
		filled = prose && width < len(out[len(out)-1]) && len(line) >= paragraphWidth
	}
	for i, line := range out {
		out[i] = wrap(line, width, min(lastColumn(line), width*2/3))
	}
	return strings.Join(out, "\n") + "\n"
}

// lastColumn is the index at which the last column of a line begins. Columns have two spaces
// between them.
func lastColumn(line string) int {
	begin := strings.LastIndex(strings.TrimRight(line, " "), "  ") + len("  ")
	if begin < len("  ") {
		return 0
	}
	return begin
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
	used := 0
	at := 0
	for state := byte(0); at < len(line); {
		_, columns, length, next := ansi.DecodeSequence(line[at:], state, nil)
		used += columns
		if used > width && at > 0 {
			return at
		}
		at += length
		state = next
	}
	return at
}
