package plan

import (
	"fmt"
	"reflect"
	"regexp"

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
// error is a Problems.
func Read(file string, data []byte) (*Plan, error) {
	root, err := parseMapping(file, data, "a mapping with name, terminals and flows")
	if err != nil {
		return nil, err
	}
	var problems Problems
	entries, parameters := readSweep(root, &problems)
	if len(problems) > 0 {
		return nil, problems.err()
	}
	p := &Plan{Source: data, Parameters: parameters}
	bare := root.without("sweep")
	ids := map[string]bool{}
	for _, o := range product(entries) {
		e, tree := readPoint(bare, o, p.Parameters, &problems)
		if len(problems) >= maxProblems {
			break
		}
		if p.Experiment == nil {
			p.Experiment = e
			p.Claims = compileClaims(tree, e, p.Parameters, &problems)
		}
		if len(problems) > 0 {
			continue
		}
		point := Point{ID: pointID(o.settings), Settings: o.settings, Setup: e.resolve()}
		if ids[point.ID] {
			point.ID += "~" + shortHash(o.settings)
		}
		ids[point.ID] = true
		p.Points = append(p.Points, point)
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	p.Runs = runs(p.Experiment, p.Points)
	return p, nil
}

// readPoint decodes and checks the file at one point.
func readPoint(bare *node, o option, parameters []Parameter, problems *Problems) (*Experiment, *node) {
	tree := bare.clone()
	var here Problems
	o.assign(tree, &here)
	e := decodeExperiment(tree, &here)
	// Skip the checks, because they would report the undecoded parts again.
	if len(here) == 0 {
		c := checker{tree: tree, problems: &here, e: e, machines: e.directory(), parameters: parameters}
		c.all()
	}
	for _, p := range here {
		problems.add(p)
	}
	return e, tree
}

// decodeExperiment applies the profiles to a tree, decodes it, and sets the defaults.
func decodeExperiment(tree *node, problems *Problems) *Experiment {
	applyProfiles(tree, problems)
	e := &Experiment{}
	(&decoder{problems}).value(tree, "", reflect.ValueOf(e).Elem())
	e.setDefaults()
	return e
}

// compileClaims compiles the claims and gives their mistakes positions in the file.
func compileClaims(tree *node, e *Experiment, parameters []Parameter, problems *Problems) Named[*judge.Claim] {
	v := judge.Vocabulary{Measurements: e.Measure.Names(), Axes: map[string][]string{}}
	for _, p := range parameters {
		v.Axes[p.Name] = p.Values
	}
	var claims Named[*judge.Claim]
	for _, c := range e.Claims {
		claim, err := judge.Compile(c.Value.Holds, v)
		if m, ok := err.(*judge.Mistake); ok {
			path := "claims." + c.Name + ".holds"
			at, _ := tree.find(path)
			problems.add(
				Problem{
					at.Position, path,
					fmt.Sprintf("a mistake at its line %d, column %d: %s", m.Line, m.Column, m.Message), "",
				},
			)
			continue
		}
		claims = append(claims, Item[*judge.Claim]{c.Name, claim})
	}
	return claims
}
