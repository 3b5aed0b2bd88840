package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// page is docs/results/reproduction.md: text of people, a table with a row for each experiment, and a section for each.
type page struct{ text string }

const (
	rowsBegin = "<!-- rows begin -->\n"
	rowsEnd   = "<!-- rows end -->\n"
	rowsHead  = "| experiment | repeats | claims held | not held | not decided | runs |\n|---|---|---|---|---|---|\n"
)

func sectionBegin(name string) string {
	return fmt.Sprintf("<!-- %s begin: make reproduce -->\n", name)
}
func sectionEnd(name string) string { return fmt.Sprintf("<!-- %s end -->\n", name) }

// readPage reads the page, or begins one.
func readPage(path string) (*page, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return &page{"# Reproduction\n\n" + rowsBegin + rowsHead + rowsEnd}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the page: %w", err)
	}
	if p := (&page{string(text)}); strings.Contains(p.text, rowsBegin) && strings.Contains(p.text, rowsEnd) {
		return p, nil
	}
	return nil, fmt.Errorf("reading the page: %s has no lines %q and %q", path, strings.TrimSpace(rowsBegin), strings.TrimSpace(rowsEnd))
}

func (p *page) write(path string) error {
	if err := os.WriteFile(path, []byte(p.text), 0o644); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// set writes the section and the row of an experiment in place of those that there are.
func (p *page) set(name, section, row string) {
	begin, end := sectionBegin(name), sectionEnd(name)
	if from, to := strings.Index(p.text, begin), strings.Index(p.text, end); from >= 0 && to > from {
		p.text = p.text[:from] + begin + section + p.text[to:]
	} else {
		p.insert(name, begin+section+end)
	}
	before, rest, _ := strings.Cut(p.text, rowsBegin)
	table, after, _ := strings.Cut(rest, rowsEnd)
	rows := map[string]string{name: row}
	names := []string{name}
	for line := range strings.Lines(strings.TrimPrefix(table, rowsHead)) {
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
	p.text = before + rowsBegin + rowsHead + b.String() + rowsEnd + after
}

var nameOf = regexp.MustCompile(`^\| \[([^\]]+)\]`)

// insert puts a new section before the first that comes after it.
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

// natural orders p1-fig7 before p1-fig10.
func natural(a, b string) int {
	as, bs := parts.FindAllString(a, -1), parts.FindAllString(b, -1)
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
