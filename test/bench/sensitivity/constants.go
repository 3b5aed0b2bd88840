package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// constant is a numeric constant of a package, with its place in the source.
type constant struct {
	name, path string
	value      string // source text
	source     []byte
	from, to   int // offsets of the value in the source
	whole      bool
}

// constants returns the numeric constants of the package in a folder that are not made of other
// constants of it, in order of files and lines.
func constants(folder string) (all []constant, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found, err := constantsOf(path, source)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: found no constants", folder)
	}
	return all, nil
}

// constantsOf returns the constants of one file.
func constantsOf(path string, source []byte) (all []constant, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, source, 0)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		declaration, ok := d.(*ast.GenDecl)
		if !ok || declaration.Tok != token.CONST {
			continue
		}
		for _, s := range declaration.Specs {
			spec := s.(*ast.ValueSpec) // all of a const declaration are
			for i, value := range spec.Values {
				number, whole := numeric(value)
				if !number {
					continue
				}
				from := set.Position(value.Pos()).Offset
				to := set.Position(value.End()).Offset
				all = append(all, constant{
					name: spec.Names[i].Name, path: path, value: string(source[from:to]), source: source,
					from: from, to: to, whole: whole,
				})
			}
		}
	}
	return all, nil
}

// numeric reports whether an expression has only numbers and units of package time, and whether it
// is written as a whole number.
func numeric(e ast.Expr) (number, whole bool) {
	number = false
	whole = true
	other := false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind != token.INT {
				whole = false
			}
			number = number || n.Kind == token.INT || n.Kind == token.FLOAT
			other = other || n.Kind == token.STRING || n.Kind == token.CHAR
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" {
				number = true
				whole = false
				return false
			}
			other = true
		case *ast.Ident:
			other = true
		}
		return true
	})
	return number && !other, whole
}

// factors are the multipliers of each constant.
var factors = [2]float64{0.75, 1.25}

// times returns the source with the constant times a factor. A whole number changes by 1 at least.
func (c *constant) times(factor float64) []byte {
	value := fmt.Sprintf("(%s) * %d / 100", c.value, int(100*factor))
	if c.whole { // an integer division rounds down: less below, and at least 1 more above
		if factor > 1 {
			value = fmt.Sprintf("((%s) * %d + 99) / 100", c.value, int(100*factor))
		}
	}
	return slices.Concat(c.source[:c.from], []byte(value), c.source[c.to:])
}
