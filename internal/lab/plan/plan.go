package plan

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"airtide/internal/lab/document"
	"airtide/internal/lab/judge"
)

// Plan is a checked experiment with its runs.
type Plan struct {
	// Experiment is the file at the first point. Use only its fields that are equal at all points:
	// name, measurements, claims, figures and repeats.
	Experiment *Experiment `json:"experiment"`
	// Parameters of the sweep, with their values as the file writes them.
	Parameters []Parameter `json:"parameters"`
	Points     []Point     `json:"points"`
	// Source is the experiment's file.
	Source []byte `json:"-"`
	// Runs are in the order of execution.
	Runs []Run `json:"runs"`
	// Claims are the compiled claims by name.
	Claims Named[*judge.Claim] `json:"-"`
}

// Parameter is one variable of the sweep.
type Parameter struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// Point is one combination of the sweep's values.
type Point struct {
	// ID consists of the settings. It does not change when values or repeats are added.
	ID       string    `json:"id"`
	Settings []Setting `json:"settings"`
	Setup    *Setup    `json:"setup"`
}

// Params returns the settings for package judge.
func (p *Point) Params() map[string]judge.Param {
	params := map[string]judge.Param{}
	for _, s := range p.Settings {
		params[s.Parameter] = s.Value
	}
	return params
}

// experimentName matches names that are valid for a folder.
var experimentName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Read checks an experiment's file and plans its runs. Messages contain the name of the file. The
// error is a Problems, or the context's.
func Read(ctx context.Context, file string, data []byte) (*Plan, error) {
	root, err := document.ParseMapping(file, data, "a mapping with name, terminals and flows")
	if err != nil {
		return nil, err
	}
	var problems Problems
	entries, parameters := readSweep(root, &problems)
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	r := reader{problems: &problems, parameters: parameters}
	r.split(root.Without("sweep"))
	p := &Plan{Source: data, Parameters: parameters}
	ids := map[string]bool{}
	size := 0
	for _, o := range product(entries) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e := r.point(o)
		if p.Experiment == nil {
			p.Experiment = e
			p.Claims = r.claims()
		}
		if len(problems) >= document.MaxProblems {
			break
		}
		if len(problems) > 0 {
			continue
		}
		size += e.size()
		if size > maxSize {
			tooLarge(root, &problems)
			break
		}
		point := Point{ID: pointID(o.settings), Settings: o.settings, Setup: e.resolve()}
		if ids[point.ID] {
			point.ID += "~" + shortHash(o.settings)
		}
		ids[point.ID] = true
		p.Points = append(p.Points, point)
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if n := len(p.Points) * p.Experiment.Repeats; n > MaxRuns {
		problems.Add(root.Position, "repeats", fmt.Sprintf("%d runs", n), fmt.Sprintf("at most %d", MaxRuns))
		return nil, problems.Err()
	}
	p.Runs = runs(p.Experiment, p.Points)
	return p, nil
}

// reader reads the points of a file. The general part is read once, because reading it again at
// each point would take the product of their sizes.
type reader struct {
	problems   *Problems
	parameters []Parameter
	// conditions is the tree that a sweep can vary, and generalTree the rest of the file.
	conditions  *document.Node
	generalTree *document.Node
	general     General
	// cellAlone is true for a cell without flows.
	cellAlone bool
}

// split divides a file and decodes and checks its general part.
func (r *reader) split(root *document.Node) {
	r.generalTree = &document.Node{Position: root.Position, Kind: document.Mapping}
	r.conditions = &document.Node{Position: root.Position, Kind: document.Mapping}
	varied := document.FieldNames(reflect.TypeFor[Conditions]())
	for _, f := range root.Fields {
		switch {
		case slices.Contains(notSwept, f.Name):
			r.generalTree.Fields = append(r.generalTree.Fields, f)
		case slices.Contains(varied, f.Name):
			r.conditions.Fields = append(r.conditions.Fields, f)
		default:
			r.problems.AddUnknown(f, "", reflect.TypeFor[Experiment]())
		}
	}
	before := len(*r.problems)
	document.Decode(r.generalTree, "", &r.general, r.problems)
	r.general.setDefaults()
	// Skip the checks, because they would report the undecoded parts again.
	if len(*r.problems) == before {
		c := checker{
			tree: r.generalTree, problems: r.problems, e: &Experiment{General: r.general}, parameters: r.parameters,
		}
		r.general.check(&c)
	}
}

// point decodes and checks the conditions at one point.
func (r *reader) point(o option) *Experiment {
	tree := r.conditions.Clone()
	var here Problems
	o.assign(tree, &here)
	e := &Experiment{General: r.general, Conditions: decodeConditions(tree, &here)}
	if len(here) == 0 {
		// The positions of measurements and figures are in the general part.
		tree.Fields = slices.Concat(tree.Fields, r.generalTree.Fields)
		c := checker{
			tree: tree, problems: &here, e: e, machines: e.directory(), parameters: r.parameters,
			cellAlone: r.cellAlone,
		}
		e.check(&c)
	}
	r.problems.Merge(here)
	return e
}

// tooLarge adds the problem of a file whose setups would need too much memory.
func tooLarge(root *document.Node, problems *Problems) {
	at := root
	if sweep := root.Get("sweep"); sweep != nil {
		at = sweep
	}
	problems.Add(at.Position, "", "too much for one plan",
		fmt.Sprintf("at most %d terminals, flows and changes of the path, over all points", maxSize/terminalSize))
}

// decodeConditions applies the profiles to a tree, decodes it, and sets the defaults.
func decodeConditions(tree *document.Node, problems *Problems) (c Conditions) {
	applyProfiles(tree, problems)
	document.Decode(tree, "", &c, problems)
	c.setDefaults()
	return c
}

// claims compiles the claims and gives their mistakes positions in the file.
func (r *reader) claims() Named[*judge.Claim] {
	v := judge.Vocabulary{Measurements: r.general.Measure.Names(), Axes: map[string][]string{}}
	for _, p := range r.parameters {
		v.Axes[p.Name] = p.Values
	}
	var claims Named[*judge.Claim]
	for _, c := range r.general.Claims {
		claim, err := judge.Compile(c.Value.Holds, v)
		if m, ok := errors.AsType[*judge.Mistake](err); ok {
			path := "claims." + c.Name + ".holds"
			at, _ := r.generalTree.Find(path)
			found := fmt.Sprintf("a mistake at its line %d, column %d: %s", m.Line, m.Column, m.Message)
			r.problems.Add(at.Position, path, found, "")
			continue
		}
		claims = append(claims, Item[*judge.Claim]{Name: c.Name, Value: claim})
	}
	return claims
}
