package share

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// decides lists the folders of the packages whose decisions or bounds depend on time.
var decides = []string{
	".", "allocate", "control", "flow", "cwnd", "hub", "link", "message", "sampler", "probe", "radio", "rwnd",
	"steplog", "../kernel/congestion", "../kernel/tune",
}

// shows lists the functions that read the wall clock for people: the time of a status and the start
// of a tune.
var shows = map[string]bool{"./newStatus": true, "hub/Status": true, "../kernel/tune/begin": true}

// A change of the wall clock must not change a bound or end a session. No namespace isolates the
// wall clock, so the test cannot change it. It checks that no code reads it.
func TestNothingDependsOnTheWallClock(t *testing.T) {
	functions := 0
	for _, folder := range decides {
		paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d sources, %v", folder, len(paths), err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok || shows[folder+"/"+f.Name.Name] {
					continue
				}
				functions++
				ast.Inspect(f, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok {
						if of, ok := s.X.(*ast.Ident); ok && wall[of.Name+"."+s.Sel.Name] {
							t.Errorf("%s: %s.%s reads the wall clock", files.Position(s.Pos()), of.Name, s.Sel.Name)
						}
					}
					return true
				})
			}
		}
	}
	if functions < 300 {
		t.Errorf("only %d functions were looked at", functions)
	}
}

var wall = map[string]bool{
	"time.Now": true, "time.Since": true, "time.Until": true, "unix.CLOCK_REALTIME": true,
	"unix.Gettimeofday": true, "syscall.Gettimeofday": true,
}
