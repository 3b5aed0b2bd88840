package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"airtide/internal/lab/document"
	"airtide/internal/lab/judge"
)

// MaxPoints limits a sweep. More points are a mistake, and would take years.
const MaxPoints = 10_000

// Sweep is one entry of a sweep. It is a list of values (over and values), several lists whose
// values advance together (paired), or named points with any settings (points).
type Sweep struct {
	Axis
	Paired []Axis                  `json:"paired,omitzero" jsonschema:"Parameters that change together, with the same number of values each."`
	Name   string                  `json:"name,omitzero" jsonschema:"Name of the parameter in results and claims. Default: the last word of its path."`
	Points Named[map[string]Value] `json:"points,omitzero" jsonschema:"The points by name: the paths that each sets, and their values."`
}

// Axis is a parameter with its values.
type Axis struct {
	Over   Names   `json:"over,omitzero" jsonschema:"Path of the setting, such as path.rtt or terminals.*.congestion; or several paths that get the same value."`
	As     string  `json:"as,omitzero" jsonschema:"Name of the parameter in results and claims. Default: the last word of its path."`
	Values []Value `json:"values,omitzero" jsonschema:"Values of the parameter."`
}

// Setting is the value of a parameter at a point.
type Setting struct {
	Parameter string      `json:"parameter"`
	Value     judge.Param `json:"value"`
}

func setting(parameter, text string) Setting {
	return Setting{parameter, judge.Param{Text: text, Number: document.NumberOf(text)}}
}

// assignment sets a value at a path of the tree.
type assignment struct {
	path  string
	at    document.Position // position of the path in the file
	value *document.Node
}

// option is one value of an entry of the sweep.
type option struct {
	settings    []Setting
	assignments []assignment
}

// readSweep decodes and checks the sweep of a file. For each entry it returns the options.
func readSweep(root *document.Node, problems *Problems) (entries [][]option, parameters []Parameter) {
	n := root.Get("sweep")
	if n == nil {
		return nil, nil
	}
	before := len(*problems)
	var sweeps []Sweep
	document.Decode(n, "sweep", &sweeps, problems)
	if len(*problems) > before {
		return nil, nil
	}
	r := sweepReader{problems: problems}
	for i, s := range sweeps {
		entries = append(entries, r.entry(n.Items[i], fmt.Sprintf("sweep.%d", i), s))
	}
	r.bound(n, entries)
	if len(*problems) > before {
		return nil, nil
	}
	return entries, r.parameters
}

type sweepReader struct {
	problems   *Problems
	parameters []Parameter
}

func (r *sweepReader) entry(n *document.Node, path string, s Sweep) []option {
	forms := 0
	for _, given := range []bool{len(s.Over) > 0 || len(s.Values) > 0, len(s.Paired) > 0, len(s.Points) > 0} {
		if given {
			forms++
		}
	}
	switch {
	case forms != 1:
		r.problem(n, path, "an entry that is none or several of a list, paired and points",
			"one of: over with values; paired; points with a name")
		return nil
	case len(s.Points) > 0:
		return r.points(n, path, s)
	case len(s.Paired) > 0:
		return r.paired(n, path, s.Paired)
	}
	return r.axis(n, path, s.Axis)
}

// axis returns the options of one parameter.
func (r *sweepReader) axis(n *document.Node, path string, a Axis) []option {
	if len(a.Over) == 0 || len(a.Values) == 0 {
		r.problem(n, path, "a parameter without over or values", "both")
		return nil
	}
	name := a.As
	if name == "" {
		name = a.Over[0][strings.LastIndexByte(a.Over[0], '.')+1:]
	}
	options := make([]option, len(a.Values))
	var values []string
	for i, v := range a.Values {
		text := v.Node().Text
		if v.Node().Kind != document.Scalar {
			text = strconv.Itoa(i + 1) // a list or mapping has no short name
		}
		values = append(values, text)
		options[i].settings = []Setting{setting(name, text)}
		for _, over := range a.Over {
			r.checkPath(n, path, over)
			options[i].assignments = append(options[i].assignments, assignment{over, n.Position, v.Node()})
		}
	}
	r.parameter(n, path, name, values)
	return options
}

func (r *sweepReader) paired(n *document.Node, path string, axes []Axis) []option {
	var together []option
	for i, a := range axes {
		at := n.Get("paired").Items[i]
		options := r.axis(at, fmt.Sprintf("%s.paired.%d", path, i), a)
		if i == 0 {
			together = options
			continue
		}
		if len(options) != len(together) {
			r.problem(at, path, fmt.Sprintf("%d values", len(options)),
				fmt.Sprintf("%d, as many as those before it", len(together)))
			return nil
		}
		for j := range together {
			together[j].settings = append(together[j].settings, options[j].settings...)
			together[j].assignments = append(together[j].assignments, options[j].assignments...)
		}
	}
	return together
}

func (r *sweepReader) points(n *document.Node, path string, s Sweep) []option {
	if s.Name == "" {
		r.problem(n, path, "points without a name for the parameter", "one, as in name: system")
		return nil
	}
	options := make([]option, len(s.Points))
	at := n.Get("points")
	for i, p := range s.Points {
		options[i].settings = []Setting{setting(s.Name, p.Name)}
		for _, f := range at.Fields[i].Value.Fields { // in the file's order
			r.checkPath(f.Value, path, f.Name)
			options[i].assignments = append(options[i].assignments, assignment{f.Name, f.Position, f.Value})
		}
	}
	r.parameter(n, path, s.Name, s.Points.Names())
	return options
}

func (r *sweepReader) parameter(n *document.Node, path, name string, values []string) {
	if !document.IsName(name) {
		r.problem(n, path, fmt.Sprintf("the parameter name %q", name), "one of a-z, 0-9 and _: give it with as")
	}
	if slices.ContainsFunc(r.parameters, func(p Parameter) bool { return p.Name == name }) {
		r.problem(n, path, fmt.Sprintf("a second parameter %q", name), "each name once: give another with as")
	}
	seen := map[string]bool{}
	for _, v := range values {
		if seen[v] {
			r.problem(n, path, fmt.Sprintf("the value %q of %s a second time", v, name),
				"each value once (repeats says how often a point is run)")
		}
		seen[v] = true
	}
	r.parameters = append(r.parameters, Parameter{name, values})
}

func (r *sweepReader) checkPath(n *document.Node, path, over string) {
	if first, _, _ := strings.Cut(over, "."); slices.Contains(notSwept, first) {
		r.problem(n, path, fmt.Sprintf("a sweep over %s", over),
			"something of a run: "+first+" holds for the whole experiment")
	}
}

func (r *sweepReader) problem(n *document.Node, path, found, expected string) {
	r.problems.Add(n.Position, path, found, expected)
}

// bound refuses a sweep of too many points before the points are made.
func (r *sweepReader) bound(n *document.Node, entries [][]option) {
	count := 1.0
	factors := make([]string, len(entries))
	for i, e := range entries {
		count *= float64(len(e))
		factors[i] = strconv.Itoa(len(e))
	}
	if count > MaxPoints {
		text := strconv.FormatFloat(count, 'f', -1, 64)
		if count > math.MaxInt32 {
			text = strconv.FormatFloat(count, 'g', 3, 64)
		}
		r.problem(n, "sweep", fmt.Sprintf("%s points (%s)", text, strings.Join(factors, " x ")),
			fmt.Sprintf("at most %d", MaxPoints))
	}
}

// product returns all combinations of one option of each entry. The last entry changes fastest.
func product(entries [][]option) []option {
	all := []option{{}}
	for _, e := range entries {
		var next []option
		for _, a := range all {
			for _, o := range e {
				next = append(next,
					option{slices.Concat(a.settings, o.settings), slices.Concat(a.assignments, o.assignments)})
			}
		}
		all = next
	}
	return all
}

// assign sets the values of a point in a tree.
func (o option) assign(root *document.Node, problems *Problems) {
	for _, a := range o.assignments {
		if !root.Assign(strings.Split(a.path, "."), a.value, a.at) {
			_, names := root.NearestTo(a.path)
			problems.Add(a.at, "sweep", fmt.Sprintf("the unknown path %q", a.path), names)
		}
	}
}
