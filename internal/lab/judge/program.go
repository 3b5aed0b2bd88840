package judge

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/syntax"
)

// environment maps each measurement to its set.
type environment map[string]Set

// program computes a value of a claim.
type program func(environment) (value, error)

// compileAs compiles an expression that must have a given kind.
func (b *builder) compileAs(want kind, e syntax.Expr) (program, error) {
	switch want {
	case place:
		return b.place(e)
	case list:
		return b.list(e)
	case axis:
		return b.axis(e)
	}
	p, is, err := b.compile(e)
	if err != nil {
		return nil, err
	}
	if is != want {
		hint := ""
		if is == measurement {
			hint = fmt.Sprintf(", such as mean(%s)", b.text(e))
		}
		return nil, b.mistake(e, fmt.Sprintf("%s is %s, expected %s%s", b.text(e), is, want, hint))
	}
	return p, nil
}

// compile compiles a number or a measurement.
func (b *builder) compile(e syntax.Expr) (program, kind, error) {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return b.compile(e.X)
	case *syntax.Ident:
		if b.isMeasurement(e.Name) {
			where := map[string]string{}
			for _, p := range b.within {
				where[p.axis] = p.value
			}
			return func(env environment) (value, error) {
				if len(where) == 0 {
					return value{set: env[e.Name]}, nil
				}
				return value{set: env[e.Name].at(where)}, nil
			}, measurement, nil
		}
		return nil, "", b.mistake(e, "unknown name "+e.Name+", expected one of: "+
			strings.Join(b.vocabulary.Measurements, ", "))
	case *syntax.Literal:
		switch v := e.Value.(type) {
		case int64:
			return constant(float64(v)), number, nil
		case float64:
			return constant(v), number, nil
		case *big.Int:
			f, _ := new(big.Float).SetInt(v).Float64()
			return constant(f), number, nil
		}
	case *syntax.UnaryExpr:
		if e.Op == syntax.MINUS || e.Op == syntax.PLUS {
			return b.sign(e)
		}
	case *syntax.BinaryExpr:
		return b.arithmetic(e)
	case *syntax.CallExpr:
		return b.call(e)
	}
	return nil, "", b.mistake(e, fmt.Sprintf("found %s, expected a number or a measurement", b.text(e)))
}

func (b *builder) isMeasurement(name string) bool {
	return slices.Contains(b.vocabulary.Measurements, name)
}

func constant(v float64) program {
	return func(environment) (value, error) { return value{number: v}, nil }
}

func (b *builder) sign(e *syntax.UnaryExpr) (program, kind, error) {
	p, err := b.compileAs(number, e.X)
	if err != nil || e.Op == syntax.PLUS {
		return p, number, err
	}
	return func(env environment) (value, error) {
		v, err := p(env)
		return value{number: -v.number}, err
	}, number, nil
}

var operators = map[syntax.Token]func(x, y float64) float64{
	syntax.PLUS:  func(x, y float64) float64 { return x + y },
	syntax.MINUS: func(x, y float64) float64 { return x - y },
	syntax.STAR:  func(x, y float64) float64 { return x * y },
	syntax.SLASH: func(x, y float64) float64 { return x / y },
}

func (b *builder) arithmetic(e *syntax.BinaryExpr) (program, kind, error) {
	operate, ok := operators[e.Op]
	if !ok {
		return nil, "", b.mistakeAt(e.OpPos, fmt.Sprintf("%s does not give a number, expected +, -, * or /", e.Op))
	}
	left, err := b.compileAs(number, e.X)
	if err != nil {
		return nil, "", err
	}
	right, err := b.compileAs(number, e.Y)
	if err != nil {
		return nil, "", err
	}
	return func(env environment) (value, error) {
		x, err := left(env)
		if err != nil {
			return value{}, err
		}
		y, err := right(env)
		return value{number: operate(x.number, y.number)}, err
	}, number, nil
}

func (b *builder) call(e *syntax.CallExpr) (program, kind, error) {
	name, ok := e.Fn.(*syntax.Ident)
	if !ok {
		return nil, "", b.mistake(e, "found "+b.text(e.Fn)+", expected the name of a function")
	}
	if name.Name == atEach {
		return nil, "", b.mistake(e, "at_each joins comparisons and gives no number")
	}
	f, ok := functions[name.Name]
	if !ok {
		return nil, "", b.mistake(e, fmt.Sprintf("unknown name %s, expected one of: %s",
			name.Name, strings.Join(slices.Sorted(maps.Keys(functions)), ", ")))
	}
	if n := len(e.Args); n > len(f.parameters) || n < len(f.parameters)-f.optional {
		return nil, "", b.mistake(e, fmt.Sprintf("%d arguments, expected %s", n, f.meaning))
	}
	arguments := make([]program, len(e.Args))
	for i, arg := range e.Args {
		var err error
		arguments[i], err = b.compileAs(f.parameters[i], arg)
		if err != nil {
			return nil, "", err
		}
	}
	return func(env environment) (value, error) {
		values := make([]value, len(arguments))
		for i, p := range arguments {
			var err error
			values[i], err = p(env)
			if err != nil {
				return value{}, err
			}
		}
		return f.call(values)
	}, f.result, nil
}

func (b *builder) list(e syntax.Expr) (program, error) {
	l, ok := e.(*syntax.ListExpr)
	if !ok {
		return nil, b.mistake(e, "expected "+string(list)+", as in [400, 50]")
	}
	items := make([]program, len(l.List))
	for i, item := range l.List {
		var err error
		items[i], err = b.compileAs(number, item)
		if err != nil {
			return nil, err
		}
	}
	return func(env environment) (value, error) {
		numbers := make([]float64, len(items))
		for i, p := range items {
			v, err := p(env)
			if err != nil {
				return value{}, err
			}
			numbers[i] = v.number
		}
		return value{list: numbers}, nil
	}, nil
}

func (b *builder) place(e syntax.Expr) (program, error) {
	dict, ok := e.(*syntax.DictExpr)
	if !ok {
		return nil, b.mistake(e, "expected "+string(place))
	}
	where := map[string]string{}
	for _, item := range dict.List {
		entry, _ := item.(*syntax.DictEntry)
		key, ok := text(entry.Key)
		if id, isName := entry.Key.(*syntax.Ident); isName {
			key = id.Name
			ok = true
		}
		wanted, okValue := text(entry.Value)
		if !ok || !okValue {
			return nil, b.mistake(e, `expected texts, as in {rtt: "16 ms"}`)
		}
		if err := b.checkAxis(entry.Key, key); err != nil {
			return nil, err
		}
		if values := b.vocabulary.Axes[key]; !slices.Contains(values, wanted) {
			return nil, b.mistake(entry.Value, fmt.Sprintf("%s takes no value %q in the sweep, expected one of: %s",
				key, wanted, strings.Join(values, ", ")))
		}
		where[key] = wanted
	}
	return func(environment) (value, error) { return value{place: where}, nil }, nil
}

func (b *builder) axis(e syntax.Expr) (program, error) {
	name, ok := text(e)
	if !ok {
		return nil, b.mistake(e, "expected "+string(axis)+", in quotation marks")
	}
	if err := b.checkAxis(e, name); err != nil {
		return nil, err
	}
	return func(environment) (value, error) { return value{text: name}, nil }, nil
}

// text returns the content of a quoted text.
func text(e syntax.Expr) (string, bool) {
	literal, ok := e.(*syntax.Literal)
	if !ok || literal.Token != syntax.STRING {
		return "", false
	}
	s, ok := literal.Value.(string)
	return s, ok
}

func (b *builder) checkAxis(e syntax.Expr, name string) error {
	if _, ok := b.vocabulary.Axes[name]; ok {
		return nil
	}
	expected := "the experiment has no sweep"
	if names := b.vocabulary.axisNames(); len(names) > 0 {
		expected = "expected one of: " + strings.Join(names, ", ")
	}
	return b.mistake(e, fmt.Sprintf("%q is no parameter of the sweep, %s", name, expected))
}
