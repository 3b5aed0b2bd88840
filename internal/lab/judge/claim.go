package judge

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/syntax"
)

// Claim is an expression over measurements: comparisons of numbers, joined by and, or, not. Runs
// confirm or refute it.
type Claim struct {
	expression string
	vocabulary Vocabulary
	root       term
}

// Mistake is an error in a claim. Its position, Line and Column, counts from 1.
type Mistake struct {
	Line, Column int
	Message      string
}

func (m *Mistake) Error() string { return fmt.Sprintf("at %d:%d: %s", m.Line, m.Column, m.Message) }

// term is a node of a claim: a comparison or a combination of terms.
type term interface {
	outcome(decide func(*comparison) Outcome) Outcome
}

type comparison struct {
	operator    string
	left, right side
}

// side is one side of a comparison: a number.
type side struct {
	text    string
	program program
	// constant means that the value does not depend on the runs, so no interval is shown.
	constant bool
}

type joined struct {
	operator string // and, or
	terms    []term
}

type negated struct{ term term }

// maxLength is the longest claim in bytes.
const maxLength = 4096

// Compile parses a claim and checks it against the existing measurements and axes. Its error is a
// *Mistake. The grammar is that of Starlark expressions.
func Compile(expression string, v Vocabulary) (*Claim, error) {
	if len(expression) > maxLength {
		return nil, &Mistake{1, 1, fmt.Sprintf("it is longer than %d bytes", maxLength)}
	}
	b := builder{vocabulary: v, source: []rune(expression)}
	// A line break has no meaning in a claim, but it would end the expression in Starlark.
	flat := strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\t' {
			return ' '
		}
		return r
	}, expression)
	trimmed := strings.TrimLeft(flat, " ")
	b.skipped = len(flat) - len(trimmed)
	tree, err := new(syntax.FileOptions).ParseExpr("", trimmed, 0)
	if err != nil {
		if e, ok := errors.AsType[syntax.Error](err); ok {
			return nil, b.mistakeAt(e.Pos, e.Msg)
		}
		return nil, &Mistake{1, 1, err.Error()}
	}
	if end := syntax.End(tree); strings.TrimRight(b.from(end), " \n\r\t") != "" {
		return nil, b.mistakeAt(end, "expected the end of the claim")
	}
	c := &Claim{expression: expression, vocabulary: v}
	c.root, err = b.term(tree)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// String returns the claim as written in the file.
func (c *Claim) String() string { return c.expression }

// builder makes programs from the syntax tree of a claim.
type builder struct {
	vocabulary Vocabulary
	source     []rune
	skipped    int // spaces before the first word
	// within contains the values of the enclosing at_each calls, outermost first.
	within []point
}

// point is one value of a swept parameter.
type point struct{ axis, value string }

func (b *builder) term(e syntax.Expr) (term, error) {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return b.term(e.X)
	case *syntax.CallExpr:
		if name, ok := e.Fn.(*syntax.Ident); ok && name.Name == atEach {
			return b.atEach(e)
		}
	case *syntax.UnaryExpr:
		if e.Op == syntax.NOT {
			inner, err := b.term(e.X)
			return negated{inner}, err
		}
	case *syntax.BinaryExpr:
		switch e.Op {
		case syntax.AND, syntax.OR:
			left, err := b.term(e.X)
			if err != nil {
				return nil, err
			}
			right, err := b.term(e.Y)
			return joined{e.Op.String(), []term{left, right}}, err
		case syntax.LT, syntax.LE, syntax.GT, syntax.GE:
			left, err := b.side(e.X)
			if err != nil {
				return nil, err
			}
			right, err := b.side(e.Y)
			return &comparison{e.Op.String(), left, right}, err
		case syntax.EQL, syntax.NEQ:
			return nil, b.mistakeAt(e.OpPos,
				"measurements are never exactly equal: compare with <, <=, > or >=, as in abs(a - b) < 0.1")
		}
	}
	return nil, b.mistake(e,
		fmt.Sprintf("found %s, expected comparisons (<, <=, >, >=) joined by and, or, not", b.text(e)))
}

// atEach evaluates a term at each value of a swept parameter and joins the results.
func (b *builder) atEach(call *syntax.CallExpr) (term, error) {
	if n := len(call.Args); n != 2 {
		return nil, b.mistake(call, fmt.Sprintf("%d arguments, expected %s", n, atEachMeaning))
	}
	name, ok := text(call.Args[0])
	if !ok {
		return nil, b.mistake(call.Args[0], "expected "+string(axis)+", as in "+atEachMeaning)
	}
	if err := b.checkAxis(call.Args[0], name); err != nil {
		return nil, err
	}
	for _, p := range b.within {
		if p.axis == name {
			return nil, b.mistake(call, fmt.Sprintf("at_each has %s already", name))
		}
	}
	all := joined{operator: "and"}
	for _, v := range b.vocabulary.Axes[name] {
		inner := *b
		inner.within = append(slices.Clone(b.within), point{name, v})
		t, err := inner.term(call.Args[1])
		if err != nil {
			return nil, err
		}
		all.terms = append(all.terms, t)
	}
	return all, nil
}

func (b *builder) side(e syntax.Expr) (side, error) {
	p, err := b.compileAs(number, e)
	if err != nil {
		return side{}, err
	}
	constant := true
	syntax.Walk(e, func(n syntax.Node) bool {
		if id, ok := n.(*syntax.Ident); ok && b.isMeasurement(id.Name) {
			constant = false
		}
		return true
	})
	return side{text: b.text(e), program: p, constant: constant}, nil
}

// text returns the source of an expression in one line. Within at_each, a measurement is written
// with its value of the swept parameter.
func (b *builder) text(e syntax.Expr) string {
	start, end := e.Span()
	var out strings.Builder
	at := b.index(start)
	if len(b.within) > 0 {
		syntax.Walk(e, func(n syntax.Node) bool {
			if id, ok := n.(*syntax.Ident); ok && b.isMeasurement(id.Name) {
				out.WriteString(string(b.source[at:b.index(id.NamePos)]))
				written := id.Name
				for _, p := range b.within {
					written = fmt.Sprintf("at(%s, {%s: %q})", written, p.axis, p.value)
				}
				out.WriteString(written)
				_, last := id.Span()
				at = b.index(last)
			}
			return true
		})
	}
	out.WriteString(string(b.source[at:b.index(end)]))
	return strings.Join(strings.Fields(out.String()), " ")
}

// from returns the source from a position to the end.
func (b *builder) from(p syntax.Position) string { return string(b.source[b.index(p):]) }

// index returns the index of a position in the source.
func (b *builder) index(p syntax.Position) int {
	return min(max(int(p.Col)-1, 0)+b.skipped, len(b.source))
}

// mistake returns a Mistake at an expression.
func (b *builder) mistake(e syntax.Expr, message string) *Mistake {
	return b.mistakeAt(syntax.Start(e), message)
}

func (b *builder) mistakeAt(p syntax.Position, message string) *Mistake {
	m := &Mistake{Line: 1, Column: 1, Message: message}
	for _, r := range b.source[:b.index(p)] {
		m.Column++
		if r == '\n' {
			m.Line++
			m.Column = 1
		}
	}
	return m
}
