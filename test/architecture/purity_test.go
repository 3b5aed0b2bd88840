package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pure are the packages that run in virtual time. They know no clock and no goroutine: the same
// calls give the same run, in a test and under real packets.
var pure = []string{"internal/cell/medium", "internal/cell/path", "internal/cell/queue"}

// arithmetic are the other packages of this module that a pure one may import.
var arithmetic = []string{"internal/stats", "internal/units"}

// impure packages start goroutines or reach the system. So does every package below them.
var impure = []string{"os", "net", "io", "sync", "context", "runtime", "syscall", "golang.org/x/sys"}

// allowed are the parts of a package that a pure one may use: durations without a clock, and seeded
// randomness.
var allowed = map[string][]string{
	"time":         {"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"},
	"math/rand/v2": {"New", "NewPCG", "Rand", "PCG", "Source"},
	"math/rand":    {},
}

// impurities are the places of a file that break the rules of a pure package.
func impurities(files *token.FileSet, f *ast.File) (found []string) {
	at := func(n ast.Node, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: %s", files.Position(n.Pos()), fmt.Sprintf(format, args...)))
	}
	names := map[string]string{} // what the file calls a package
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		own, isOwn := strings.CutPrefix(path, "airtide/")
		if isOwn && !slices.Contains(pure, own) && !slices.Contains(arithmetic, own) {
			at(i, "imports %s", path)
		}
		for _, p := range impure {
			if path == p || strings.HasPrefix(path, p+"/") {
				at(i, "imports %s", path)
			}
		}
		name := filepath.Base(strings.TrimSuffix(path, "/v2"))
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = path
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			at(n, "starts a goroutine")
		case *ast.ChanType:
			at(n, "has a channel")
		case *ast.SelectStmt:
			at(n, "waits for channels")
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Obj == nil { // not a variable of that name
				if may, ok := allowed[names[x.Name]]; ok && !slices.Contains(may, n.Sel.Name) {
					at(n, "uses %s.%s", x.Name, n.Sel.Name)
				}
			}
		}
		return true
	})
	return found
}

func TestPackagesInVirtualTimeArePure(t *testing.T) {
	for _, p := range pure {
		paths, err := filepath.Glob(filepath.Join(root, p, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s has no files: %v", p, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			files := token.NewFileSet()
			f, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range impurities(files, f) {
				t.Errorf("%s, which a package in virtual time must not", i)
			}
		}
	}
}

func TestImpuritiesAreFound(t *testing.T) {
	for source, want := range map[string]string{
		`import "os"`:                                      "imports os",
		`import "sync/atomic"`:                             "imports sync/atomic",
		`import "golang.org/x/sys/unix"`:                   "imports golang.org/x/sys/unix",
		`import "airtide/internal/sys/clock"`:              "imports airtide/internal/sys/clock",
		`import "airtide/internal/cell/queue"`:             "",
		`import "time"; var _ = time.Now()`:                "uses time.Now",
		`import clock "time"; func f() { clock.Sleep(1) }`: "uses clock.Sleep",
		`import "math/rand/v2"; var _ = rand.IntN(3)`:      "uses rand.IntN",
		`func f() { go f() }`:                              "starts a goroutine",
		`func f(c chan int) {}`:                            "has a channel",
		`func f() { select {} }`:                           "waits for channels",

		`import "time"; const d = 3 * time.Second`:                                                    "",
		`import "math/rand/v2"; func f(r *rand.Rand) int { return r.IntN(3) }`:                        "",
		`import ("math/rand/v2"; "fmt"); var _ = rand.New(rand.NewPCG(1, 2)); var _ = fmt.Sprint("")`: "",
	} {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "a.go", "package a\n"+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := strings.Join(impurities(files, f), "; ")
		if want == "" && found != "" || !strings.Contains(found, want) {
			t.Errorf("%s: found %q, want %q", source, found, want)
		}
	}
}
