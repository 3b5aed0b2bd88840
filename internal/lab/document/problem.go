package document

import (
	"fmt"
	"slices"
	"strings"

	"airtide/internal/units"
)

// Position is a position in a file. Line and Column count from 1.
type Position struct {
	File   string
	Line   int
	Column int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Problem is one mistake in an experiment's file.
type Problem struct {
	Position
	// Path names the value as a sweep does: terminals.phone.radio.phy_rate. It is empty for a
	// mistake in the syntax.
	Path string
	// Found and Expected complete the sentence "found ..., expected ...".
	Found, Expected string
}

// Limits of the parts of a message, in characters. A file may have names of any length.
const (
	maxFound    = 200 // also of a path
	maxExpected = 2000
	maxValue    = 60
)

func (p Problem) Error() string {
	text := p.Position.String() + ": "
	if p.Path != "" {
		text += cut(p.Path, maxFound) + ": "
	}
	text += "found " + cut(p.Found, maxFound)
	if p.Expected != "" {
		text += ", expected " + cut(p.Expected, maxExpected)
	}
	return units.Printable(text) // names of fields are in it as they are in the file
}

// cut shortens a text to a number of characters.
func cut(text string, most int) string {
	for at := range text {
		if most == 0 {
			return text[:at] + "…"
		}
		most--
	}
	return text
}

// Problems are all problems of a file, in the order of the file.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// MaxProblems limits the reported problems, because later problems often follow from the first
// ones.
const MaxProblems = 20

// maxCollected limits the problems that are collected and sorted. Without it, a file of 50,000
// mistakes takes seconds, because add compares each with all before it.
const maxCollected = 50 * MaxProblems

// Add adds a problem unless it exists already: the points of a sweep share most values, and so
// their problems.
func (ps *Problems) Add(at Position, path, found, expected string) {
	ps.add(Problem{at, path, found, expected})
}

// Merge adds problems that are new.
func (ps *Problems) Merge(others Problems) {
	for _, p := range others {
		ps.add(p)
	}
}

func (ps *Problems) add(p Problem) {
	if len(*ps) < maxCollected && !slices.Contains(*ps, p) {
		*ps = append(*ps, p)
	}
}

// Err returns the problems in order; nil if there are none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		if a.File != b.File {
			return strings.Compare(a.File, b.File)
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return ps[:min(len(ps), MaxProblems)]
}

// OneOf lists the possible values. If one is similar to the found value, oneOf suggests it.
func OneOf(found string, possible []string) string {
	if len(possible) == 0 {
		return "nothing"
	}
	text := "one of: " + strings.Join(possible, ", ")
	if near := units.Nearest(found, possible); near != "" {
		return fmt.Sprintf("%s (did you mean %s?)", text, near)
	}
	return text
}
