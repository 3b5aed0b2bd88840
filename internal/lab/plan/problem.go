package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a file. Line and Column count from 1.
type Position struct {
	File   string
	Line   int
	Column int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// Problem is one thing that is wrong with an experiment's file.
type Problem struct {
	Position
	// Path names the value, as a sweep would: terminals.phone.radio.phy_rate. Empty for the file's
	// syntax.
	Path string
	// Found and Expected complete the sentence "found ..., expected ...".
	Found, Expected string
}

func (p Problem) Error() string {
	text := p.Position.String() + ": "
	if p.Path != "" {
		text += p.Path + ": "
	}
	text += "found " + p.Found
	if p.Expected != "" {
		text += ", expected " + p.Expected
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

// maxProblems is how many problems are reported. Later problems tend to follow from the first ones.
const maxProblems = 20

// add notes a problem once: the points of a sweep share most of their values, and so their
// problems.
func (ps *Problems) add(p Problem) {
	if !slices.Contains(*ps, p) {
		*ps = append(*ps, p)
	}
}

// err is nil without problems, else the problems in order.
func (ps Problems) err() error {
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
	return ps[:min(len(ps), maxProblems)]
}

// oneOf lists the possible values, with the nearest to the found value first.
func oneOf(found string, possible []string) string {
	if len(possible) == 0 {
		return "nothing"
	}
	text := "one of: " + strings.Join(possible, ", ")
	if near, ok := nearest(found, possible); ok {
		return fmt.Sprintf("%s (did you mean %s?)", text, near)
	}
	return text
}

// nearest is the word that is most like the one found, if one is like it at all.
func nearest(found string, possible []string) (string, bool) {
	best, least := "", 1+len(found)/3
	for _, p := range possible {
		if d := editDistance(found, p); d <= least {
			best, least = p, d-1
		}
	}
	return best, best != ""
}

// editDistance counts the letters to insert, remove or replace between two words (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
