package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// page is the text of a results page: hand-written text, a table with a row for each experiment,
// and a section for each. Only the table and the sections between their markers are generated.
type page struct {
	results resultsPage
	text    string
}

const (
	rowsBegin = "<!-- rows begin -->\n"
	rowsEnd   = "<!-- rows end -->\n"
)

func sectionBegin(name string) string {
	return fmt.Sprintf("<!-- %s begin: make reproduce -->\n", name)
}
func sectionEnd(name string) string { return fmt.Sprintf("<!-- %s end -->\n", name) }

// readPage reads the page below dir. If the file does not exist, readPage returns an empty page
// with its title.
func readPage(dir string, results resultsPage) (*page, error) {
	path := filepath.Join(dir, results.file)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return &page{results, "# " + results.title + "\n\n" + rowsBegin + results.head() + rowsEnd}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the page: %w", err)
	}
	if p := (&page{results, string(text)}); strings.Contains(p.text, rowsBegin) && strings.Contains(p.text, rowsEnd) {
		return p, nil
	}
	return nil, fmt.Errorf("reading the page: %s has no lines %q and %q",
		path, strings.TrimSpace(rowsBegin), strings.TrimSpace(rowsEnd))
}

func (p *page) write(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, p.results.file), []byte(p.text), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// set replaces the section and the row of an experiment, or adds them.
func (p *page) set(name, section, row string) {
	begin := sectionBegin(name)
	end := sectionEnd(name)
	if from, to := strings.Index(p.text, begin), strings.Index(p.text, end); from >= 0 && to > from {
		p.text = p.text[:from] + begin + section + p.text[to:]
	} else {
		p.insert(name, begin+section+end)
	}
	before, rest, _ := strings.Cut(p.text, rowsBegin)
	table, after, _ := strings.Cut(rest, rowsEnd)
	rows := map[string]string{name: row}
	names := []string{name}
	for line := range strings.Lines(strings.TrimPrefix(table, p.results.head())) {
		if old := nameOf.FindStringSubmatch(line); old != nil && old[1] != name {
			rows[old[1]] = line
			names = append(names, old[1])
		}
	}
	slices.SortFunc(names, natural)
	var b strings.Builder
	for _, n := range names {
		b.WriteString(rows[n])
	}
	p.text = before + rowsBegin + p.results.head() + b.String() + rowsEnd + after
}

var nameOf = regexp.MustCompile(`^\| \[([^\]]+)\]`)

// insert puts a new section before the next one in natural order.
func (p *page) insert(name, section string) {
	for _, m := range sectionStart.FindAllStringSubmatchIndex(p.text, -1) {
		if natural(p.text[m[2]:m[3]], name) > 0 {
			p.text = p.text[:m[0]] + section + "\n" + p.text[m[0]:]
			return
		}
	}
	p.text = strings.TrimRight(p.text, "\n") + "\n\n" + section
}

var sectionStart = regexp.MustCompile(`(?m)^<!-- (\S+) begin: make reproduce -->$`)

// natural compares names with their numbers as numbers: p1-fig7 comes before p1-fig10.
func natural(a, b string) int {
	as := parts.FindAllString(a, -1)
	bs := parts.FindAllString(b, -1)
	for i := range min(len(as), len(bs)) {
		x, errX := strconv.Atoi(as[i])
		y, errY := strconv.Atoi(bs[i])
		c := cmp.Compare(as[i], bs[i])
		if errX == nil && errY == nil {
			c = cmp.Compare(x, y)
		}
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}

var parts = regexp.MustCompile(`\d+|\D+`)
