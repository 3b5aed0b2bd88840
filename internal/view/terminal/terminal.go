// Package terminal knows the terminal that a command writes to: its width, its colours, and
// whether a line can be replaced in place. It prints tables, JSON, warnings and progress.
package terminal

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"airtide/internal/units"
)

// Terminal is the output of a command. Several goroutines may call its methods.
type Terminal struct {
	// Out takes results, and Err warnings and progress. New makes both remove control characters
	// from all text.
	Out io.Writer
	Err io.Writer
	// Width is the number of columns of Out. It is 0 if there is no limit, as in a pipe.
	Width  int
	Colour bool // Out shows colours
	Screen bool // Out is a terminal that moves its cursor
	Live   bool // Err is a terminal that moves its cursor

	// names are texts of the command line with characters that Notef does not print, such as ends
	// of lines.
	names []string

	// The streams behind Out and Err; nil if they are Out and Err themselves.
	rawOut, rawErr io.Writer

	status   status
	errWidth func() int // columns of Err, which change with the window
}

// New examines the standard streams. It follows NO_COLOR (no-color.org), TERM=dumb and COLUMNS,
// which replaces the width of the terminal and sets one for a pipe.
func New(stdout, stderr *os.File, getenv func(string) string) *Terminal {
	smart := getenv("TERM") != "dumb"
	out := term.IsTerminal(int(stdout.Fd()))
	err := term.IsTerminal(int(stderr.Fd()))
	colour := out && smart && getenv("NO_COLOR") == ""
	t := &Terminal{
		Out: units.NewTextWriter(stdout, colour), Err: units.NewTextWriter(stderr, false),
		rawOut: stdout, rawErr: stderr,
		Colour:   colour,
		Screen:   out && smart,
		Live:     err && smart,
		errWidth: func() int { return columns(stderr) },
	}
	if n, failed := strconv.Atoi(getenv("COLUMNS")); failed == nil && n > 0 {
		t.Width = n
	} else if out {
		t.Width = columns(stdout)
	}
	return t
}

// NameOnOneLine makes errors and warnings show arguments of the command line on one line each. So
// the name of another person's file forges no line.
func (t *Terminal) NameOnOneLine(arguments []string) {
	for _, a := range arguments {
		_, value, _ := strings.Cut(a, "=")
		for _, name := range []string{a, value} {
			if units.Printable(name) != name {
				t.names = append(t.names, name)
			}
		}
	}
}

// columns is the width of a terminal, or 0 if it is unknown.
func columns(f *os.File) int {
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// Raw is standard output for results that are no text, such as figures, and for screens that move
// the cursor. What is written there passes as it is.
func (t *Terminal) Raw() io.Writer {
	if t.rawOut == nil {
		return t.Out
	}
	return t.rawOut
}

// control is Err for sequences that move the cursor.
func (t *Terminal) control() io.Writer {
	if t.rawErr == nil {
		return t.Err
	}
	return t.rawErr
}

// JSON prints a value as indented JSON.
func (t *Terminal) JSON(value any) error {
	return json.NewEncoder(&indenter{out: t.Out}).Encode(value)
}

// JSONWithList prints an object as indented JSON. It replaces the empty list that is the member
// name by elements, and keeps one of them at a time.
func (t *Terminal) JSONWithList(object any, name string, elements iter.Seq[any]) error {
	i := &indenter{out: t.Out, list: strconv.Quote(name), elements: elements}
	return json.NewEncoder(i).Encode(object)
}

// JSONLine prints a value as one line of JSON.
func (t *Terminal) JSONLine(value any) error {
	return units.NewJSONEncoder(t.Out).Encode(value)
}

// Printf prints a result. Its lines are broken between words to fit the width.
func (t *Terminal) Printf(format string, values ...any) error {
	return t.PrintWrapped(fmt.Sprintf(format, values...), noteIndent)
}

// noteIndent is the indent of continued lines of short texts.
const noteIndent = 2

// Warnf prints a warning in a line of its own, behind the name of the program.
func (t *Terminal) Warnf(format string, values ...any) {
	t.Notef("airtide: "+format, values...)
}

// Notef prints a line to Err, without characters that a terminal could obey. On a terminal it is
// broken between words. A status line makes room for it.
func (t *Terminal) Notef(format string, values ...any) {
	t.status.mu.Lock()
	defer t.status.mu.Unlock()
	t.clear()
	line := fmt.Sprintf(format, values...)
	for _, name := range t.names {
		line = strings.ReplaceAll(line, name, units.Printable(name))
	}
	line = strings.ReplaceAll(line, "\t", " ")
	width := 0
	if t.errWidth != nil {
		width = t.errWidth()
	}
	fmt.Fprintln(t.Err, Wrap(units.PrintableText(line, false), width, noteIndent))
}

// Print prints a text that is complete.
func (t *Terminal) Print(text []byte) error {
	_, err := t.Out.Write(text)
	return err
}
