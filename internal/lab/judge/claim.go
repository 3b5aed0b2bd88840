package judge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// Claim is an expression over measurements that runs can be held against: comparisons of numbers,
// joined by and, or, not.
type Claim struct {
	expression string
	vocabulary Vocabulary
	root       term
}

// Mistake is an error in a claim, at a place in it: Line and Column count from 1.
type Mistake struct {
	Line, Column int
	Message      string
}

func (m *Mistake) Error() string { return fmt.Sprintf("at %d:%d: %s", m.Line, m.Column, m.Message) }

// term is a node of a claim: a comparison, or terms joined.
type term interface {
	outcome(decide func(*comparison) Outcome) Outcome
}

type comparison struct {
	operator    string
	left, right side
}

// side is one side of a comparison, a number.
type side struct {
	text    string
	program *vm.Program
	// constant means that the value does not depend on the runs. An interval need not be shown.
	constant bool
}

type joined struct {
	operator string // and, or
	terms    []term
}

type negated struct{ term term }

// Compile parses a claim and checks it against the existing measurements and axes. Its error is a
// *Mistake.
func Compile(expression string, v Vocabulary) (*Claim, error) {
	options := append(v.options(), expr.AsBool(), expr.WarnOnAny())
	program, err := expr.Compile(expression, options...)
	if err != nil {
		return nil, asMistake(err)
	}
	c := &Claim{expression: expression, vocabulary: v}
	b := builder{claim: c, source: []rune(expression)}
	if c.root, err = b.term(program.Node()); err != nil {
		return nil, err
	}
	return c, nil
}

// String is the claim as it was written.
func (c *Claim) String() string { return c.expression }

// builder takes the library's syntax tree apart.
type builder struct {
	claim  *Claim
	source []rune
}

func (b *builder) term(n ast.Node) (term, error) {
	switch n := n.(type) {
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			inner, err := b.term(n.Node)
			return negated{inner}, err
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "and", "&&", "or", "||":
			operator := map[string]string{"and": "and", "&&": "and", "or": "or", "||": "or"}[n.Operator]
			left, err := b.term(n.Left)
			if err != nil {
				return nil, err
			}
			right, err := b.term(n.Right)
			return joined{operator, []term{left, right}}, err
		case "<", "<=", ">", ">=":
			left, err := b.side(n.Left)
			if err != nil {
				return nil, err
			}
			right, err := b.side(n.Right)
			return &comparison{n.Operator, left, right}, err
		case "==", "!=":
			return nil, b.mistake(
				n, "measurements are never exactly equal: compare with <, <=, > or >=, as in abs(a - b) < 0.1",
			)
		}
	}
	if call, ok := n.(*ast.CallNode); ok {
		if callee, _ := call.Callee.(*ast.IdentifierNode); callee != nil && callee.Value == "at_each" {
			return b.atEach(call)
		}
	}
	return nil, b.mistake(
		n, fmt.Sprintf("found %s, expected comparisons (<, <=, >, >=) joined by and, or, not", n.String()),
	)
}

// atEach joins a term at each value of a swept parameter.
func (b *builder) atEach(call *ast.CallNode) (term, error) {
	axis, ok := call.Arguments[0].(*ast.StringNode)
	if !ok {
		return nil, b.mistake(call.Arguments[0], `expected a swept parameter, as in at_each("rtt", mean(a) > mean(b))`)
	}
	w := &walker{builder: b}
	if !w.checkAxis(axis, axis.Value) {
		return nil, w.err
	}
	if _, err := b.term(call.Arguments[1]); err != nil {
		return nil, err // placed in the claim as it was written
	}
	all := joined{operator: "and"}
	for _, value := range b.claim.vocabulary.Axes[axis.Value] {
		tree, err := parser.Parse(call.Arguments[1].String())
		if err != nil {
			return nil, asMistake(err)
		}
		ast.Walk(&tree.Node, &placer{b.claim.vocabulary.Measurements, axis.Value, value})
		t, err := b.term(tree.Node)
		if err != nil {
			return nil, err
		}
		all.terms = append(all.terms, t)
	}
	return all, nil
}

// placer puts each measurement in at(), with one value of a swept parameter.
type placer struct {
	measurements []string
	axis, value  string
}

// Visit implements ast.Visitor.
func (p *placer) Visit(n *ast.Node) {
	if id, ok := (*n).(*ast.IdentifierNode); ok && slices.Contains(p.measurements, id.Value) {
		pair := &ast.PairNode{Key: &ast.StringNode{Value: p.axis}, Value: &ast.StringNode{Value: p.value}}
		ast.Patch(n, &ast.CallNode{
			Callee:    &ast.IdentifierNode{Value: "at"},
			Arguments: []ast.Node{id, &ast.MapNode{Pairs: []ast.Node{pair}}},
		})
	}
}

func (b *builder) side(n ast.Node) (side, error) {
	w := &walker{builder: b, constant: true}
	ast.Walk(&n, w)
	if w.err != nil {
		return side{}, w.err
	}
	program, err := expr.Compile(
		n.String(), append(b.claim.vocabulary.options(), expr.AsFloat64(), expr.WarnOnAny())...,
	)
	if err != nil {
		m := asMistake(err)
		return side{}, b.mistake(n, m.Message)
	}
	return side{text: n.String(), program: program, constant: w.constant}, nil
}

// walker checks the names of axes and their values, which the library's types cannot check.
type walker struct {
	*builder
	constant bool
	err      error
}

// Visit implements ast.Visitor.
func (w *walker) Visit(n *ast.Node) {
	if id, ok := (*n).(*ast.IdentifierNode); ok && slices.Contains(w.claim.vocabulary.Measurements, id.Value) {
		w.constant = false
	}
	call, ok := (*n).(*ast.CallNode)
	if !ok || w.err != nil {
		return
	}
	callee, _ := call.Callee.(*ast.IdentifierNode)
	if callee == nil || len(call.Arguments) != 2 {
		return
	}
	switch callee.Value {
	case "at":
		w.checkPlace(call.Arguments[1])
	case "rank_correlation":
		if s, ok := call.Arguments[1].(*ast.StringNode); ok {
			w.checkAxis(s, s.Value)
		}
	}
}

func (w *walker) checkPlace(n ast.Node) {
	place, ok := n.(*ast.MapNode)
	if !ok {
		w.err = w.mistake(n, `expected swept parameters with their values, as in {rtt: "16 ms"}`)
		return
	}
	for _, p := range place.Pairs {
		pair, _ := p.(*ast.PairNode)
		key, keyOK := pair.Key.(*ast.StringNode)
		value, valueOK := pair.Value.(*ast.StringNode)
		if !keyOK || !valueOK {
			w.err = w.mistake(n, `expected texts, as in {rtt: "16 ms"}`)
			return
		}
		if !w.checkAxis(key, key.Value) {
			return
		}
		if values := w.claim.vocabulary.Axes[key.Value]; !slices.Contains(values, value.Value) {
			w.err = w.mistake(
				value,
				fmt.Sprintf(
					"%s takes no value %q in the sweep, expected one of: %s", key.Value, value.Value,
					strings.Join(values, ", "),
				),
			)
			return
		}
	}
}

func (w *walker) checkAxis(n ast.Node, name string) bool {
	if _, ok := w.claim.vocabulary.Axes[name]; ok {
		return true
	}
	expected := "the experiment has no sweep"
	if names := w.claim.vocabulary.axisNames(); len(names) > 0 {
		expected = "expected one of: " + strings.Join(names, ", ")
	}
	w.err = w.mistake(n, fmt.Sprintf("%q is no parameter of the sweep, %s", name, expected))
	return false
}

// mistake places a message at a node.
func (b *builder) mistake(n ast.Node, message string) *Mistake {
	m := &Mistake{Line: 1, Column: 1, Message: message}
	for _, r := range b.source[:min(max(n.Location().From, 0), len(b.source))] {
		if m.Column++; r == '\n' {
			m.Line, m.Column = m.Line+1, 1
		}
	}
	return m
}

// asMistake takes message and place from the library's error.
func asMistake(err error) *Mistake {
	if e := new(file.Error); errors.As(err, &e) {
		return &Mistake{Line: max(e.Line, 1), Column: e.Column + 1, Message: e.Message}
	}
	return &Mistake{Line: 1, Column: 1, Message: err.Error()}
}
