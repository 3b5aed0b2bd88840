package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// maySleep are the files of tests that may sleep, with the reason.
var maySleep = map[string]string{
	"cmd/airtide/verbs_test.go":                    "it plays a command that sleeps",
	"internal/kernel/timewarp/path_kernel_test.go": "the path delays packets",
}

// sleeps lists the calls of time.Sleep and the statements that only wait for time.After.
func sleeps(files *token.FileSet, f *ast.File) (found []string) {
	call := func(n ast.Node, name string) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return false
		}
		s, ok := c.Fun.(*ast.SelectorExpr)
		if !ok || s.Sel.Name != name {
			return false
		}
		p, ok := s.X.(*ast.Ident)
		return ok && p.Name == "time"
	}
	limits := map[ast.Stmt]bool{} // cases of a select, which waits for something else as well
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CommClause); ok {
			limits[c.Comm] = true
		}
		waits := call(n, "Sleep")
		if statement, ok := n.(*ast.ExprStmt); ok && !limits[statement] {
			receive, ok := statement.X.(*ast.UnaryExpr)
			waits = waits || ok && receive.Op == token.ARROW && call(receive.X, "After")
		}
		if waits {
			found = append(found, fmt.Sprintf("%s: sleeps", files.Position(n.Pos())))
		}
		return true
	})
	return found
}

// A sleep is too short on a busy machine and too long on all others.
func TestTestsDoNotSleep(t *testing.T) {
	tests := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+"/"))
		if entry.IsDir() || !strings.HasSuffix(path, "_test.go") || maySleep[name] != "" {
			return nil
		}
		tests++
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, readFile(t, path), 0)
		if err != nil {
			return err
		}
		for _, s := range sleeps(files, f) {
			t.Errorf("%s; wait for a condition (testnet.Eventually, Still, Settle), or say why (testnet.Idle)", s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if tests < 100 {
		t.Errorf("only %d files of tests were found", tests)
	}
}

func TestSleepsAreFound(t *testing.T) {
	for source, want := range map[string]int{
		`time.Sleep(1)`:                              1,
		`for !done() { time.Sleep(1) }`:              1,
		`for ; !done(); time.Sleep(1) {}`:            1,
		`<-time.After(1)`:                            1,
		`select { case <-time.After(1): case <-c: }`: 0,
		`<-ticks.C`:                                  0,
		`testnet.Idle(t, 1, "why")`:                  0,
	} {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "a_test.go", "package a\nfunc _() {\n"+source+"\n}\n", 0)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if found := sleeps(files, f); len(found) != want {
			t.Errorf("%s: found %q, want %d", source, found, want)
		}
	}
}
