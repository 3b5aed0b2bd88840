package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"airtide/internal/lab/document"
	"airtide/internal/lab/judge"
)

// A PartError is a part of an experiment that does not exist.
type PartError struct{ text string }

func (e *PartError) Error() string { return e.text }

func noPart(format string, args ...any) error { return &PartError{fmt.Sprintf(format, args...)} }

// Part returns the plan of some points. Each text selects the points with its settings, such as
// "rtt=16 ms,protocol=tcp" or the ID of a point. The runs keep their IDs and seeds, so a result can
// be resumed with the other points. Without a text, Part returns the plan itself.
func (p *Plan) Part(points []string) (*Plan, error) {
	if len(points) == 0 {
		return p, nil
	}
	chosen := map[int]bool{}
	for _, text := range points {
		wanted, err := p.settings(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		found := false
		for i := range p.Points {
			if p.Points[i].has(wanted) {
				chosen[i] = true
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("%q: %w", text, noPart("no point has all of these values"))
		}
	}
	part := *p
	part.Points = nil
	part.Runs = nil
	index := map[int]int{}
	for i := range p.Points {
		if chosen[i] {
			index[i] = len(part.Points)
			part.Points = append(part.Points, p.Points[i])
		}
	}
	for _, r := range p.Runs {
		if chosen[r.Point] {
			r.Point = index[r.Point]
			part.Runs = append(part.Runs, r)
		}
	}
	return &part, nil
}

// settings reads the settings of some points: NAME=VALUE, separated by commas.
func (p *Plan) settings(text string) ([]Setting, error) {
	if len(p.Parameters) == 0 {
		return nil, noPart("the experiment has one point only, without a sweep")
	}
	var names []string
	for _, parameter := range p.Parameters {
		names = append(names, parameter.Name)
	}
	var all []Setting
	for item := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(item, "=")
		name = strings.TrimSpace(name)
		value = strings.TrimSpace(value)
		i := slices.Index(names, name)
		switch {
		case i < 0:
			return nil, noPart("no parameter %q, expected %s", name, document.OneOf(name, names))
		case !ok:
			return nil, noPart("no value, expected %s=VALUE", name)
		}
		values := p.Parameters[i].Values
		k := slices.IndexFunc(values, func(v string) bool { return sameValue(v, value) })
		if k < 0 {
			return nil, noPart("no value %q of %s, expected %s", value, name, document.OneOf(value, values))
		}
		all = append(all, setting(name, values[k]))
	}
	return all, nil
}

// sameValue reports whether a text means a value of a sweep: 16 ms, 16ms and 0.016 s are the same.
func sameValue(value, text string) bool {
	a := judge.Param{Text: value, Number: document.NumberOf(value)}
	b := judge.Param{Text: text, Number: document.NumberOf(text)}
	return value == text || slug(value) == text || a.Number == b.Number
}

// has reports whether a point has some settings.
func (p *Point) has(wanted []Setting) bool {
	for _, w := range wanted {
		same := func(s Setting) bool { return s.Parameter == w.Parameter && s.Value.Text == w.Value.Text }
		if !slices.ContainsFunc(p.Settings, same) {
			return false
		}
	}
	return true
}

// Repeated returns the experiment with another number of repeats. Its text changes too, so that a
// result of it can be resumed.
func (p *Plan) Repeated(ctx context.Context, file string, repeats int) (*Plan, error) {
	if repeats < 1 || repeats > maxRepeats {
		return nil, noPart("%d: want 1 to %d", repeats, maxRepeats)
	}
	if len(p.Experiment.Seeds) > 0 {
		return nil, noPart("%d: the experiment has seeds, one for each repeat", repeats)
	}
	root, err := document.Parse(file, p.Source)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(p.Source), "\n")
	if n := root.Get("repeats"); n == nil {
		first := &lines[root.Line-1]
		*first = fmt.Sprintf("repeats: %d\n", repeats) + *first
	} else {
		line := []rune(lines[n.Line-1])
		before := string(line[:n.Column-1])
		rest := string(line[n.Column-1:])
		after, ok := strings.CutPrefix(rest, n.Text)
		if !ok {
			return nil, errors.New("repeats is not a plain number in the file")
		}
		lines[n.Line-1] = before + strconv.Itoa(repeats) + after
	}
	changed, err := Read(ctx, file, []byte(strings.Join(lines, "")))
	if err == nil && changed.Experiment.Repeats != repeats {
		err = errors.New("repeats cannot be set in a file of this form")
	}
	return changed, err
}

// Text returns the text of a file or, by name, of an experiment that comes with airtide.
func Text(arg string) ([]byte, error) { return find(arg) }
