package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parallel reports whether a statement assigns several values that it could assign one per line.
// Calls and swaps are exempt.
func parallel(a *ast.AssignStmt, text func(ast.Node) string) bool {
	if len(a.Lhs) < 2 || len(a.Lhs) != len(a.Rhs) {
		return false
	}
	values := map[string]bool{}
	for _, r := range a.Rhs {
		values[text(r)] = true
	}
	return slices.ContainsFunc(a.Lhs, func(l ast.Expr) bool { return !values[text(l)] })
}

// changesState reports whether the statement in the header of an if changes more than an error or
// new names.
func changesState(init ast.Stmt) bool {
	a, ok := init.(*ast.AssignStmt)
	if !ok {
		return init != nil
	}
	if a.Tok == token.DEFINE {
		return false
	}
	name, ok := a.Lhs[0].(*ast.Ident)
	return a.Tok != token.ASSIGN || len(a.Lhs) > 1 || !ok || !strings.HasSuffix(strings.ToLower(name.Name), "err")
}

// compressions lists the statements of a file that put several assignments into one line.
func compressions(path string, source []byte) (found []string, err error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, source, parser.ParseComments)
	if err != nil || ast.IsGenerated(f) {
		return nil, err
	}
	text := func(n ast.Node) string {
		return string(source[files.Position(n.Pos()).Offset:files.Position(n.End()).Offset])
	}
	report := func(n ast.Node, what string) {
		found = append(found, fmt.Sprintf("%s: %s: %s", files.Position(n.Pos()), what, text(n)))
	}
	header := map[ast.Stmt]bool{} // a header cannot be split
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			header[n.Init] = true
			header[n.Post] = true
		case *ast.SwitchStmt:
			header[n.Init] = true
		case *ast.IfStmt:
			header[n.Init] = true
			if changesState(n.Init) {
				report(n.Init, "the header of an if changes state")
			}
		case *ast.AssignStmt:
			if !header[n] && parallel(n, text) {
				report(n, "several assignments in one line")
			}
		}
		return true
	})
	return found, nil
}

// checkFiles reports what a check finds in the Go files, and returns the number of files.
func checkFiles(t *testing.T, check func(path string, source []byte) ([]string, error)) (n int) {
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2 {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		found, err := check(path, source)
		for _, f := range found {
			t.Error(f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestEachLineHasOneAssignment(t *testing.T) { checkFiles(t, compressions) }

func TestCompressionsAreFound(t *testing.T) {
	for statement, want := range map[string]bool{
		`a, b = 1, 2`:                       true,
		`a, b, c := 1, 2, 3`:                true,
		`if a++; a > 1 {}`:                  true,
		`if a = f(); a > 1 {}`:              true,
		`if a, err = f(); err != nil {}`:    true,
		`if f(); a > 1 {}`:                  true,
		`a, b := 1, 2`:                      true,
		`if a, b := 1, 2; a > b {}`:         false,
		`a, b = b, a`:                       false,
		`a, b = f()`:                        false,
		`if a := f(); a > 1 {}`:             false,
		`if err = f(); err != nil {}`:       false,
		`for i, j = 0, 9; ; i, j = 1, 2 {}`: false,
	} {
		found, err := compressions("a.go", []byte("package a\nfunc _() {\n"+statement+"\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if (len(found) > 0) != want {
			t.Errorf("%s: found %q", statement, found)
		}
	}
}
