package share

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// decides are the packages that decide or judge by time, by their folders, and those by which they
// bound.
var decides = []string{
	".", "allocate", "control", "flow", "cwnd", "hub", "link", "message", "sampler", "probe", "radio", "rwnd", "steplog", "../kernel/congestion", "../kernel/tune",
}

// shows are the functions whose wall time is for people to read: when a status was made, and when a
// tune was begun.
var shows = map[string]bool{"./describe": true, "hub/Status": true, "../kernel/tune/begin": true}

// TestNothingDependsOnTheWallClock: a clock that is set (by NTP, by hand, when a phone wakes) must
// move no bound and end no session. The wall clock belongs to no namespace, so that a test cannot
// set it without setting the machine's; but whoever does not read it cannot be misled by it. Agents
// go by package clock (CLOCK_MONOTONIC), by timers of the Go runtime, which are monotonic too, and
// the kernel's lease by bpf_ktime_get_ns; messages compare no clocks at all.
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
	"time.Now": true, "time.Since": true, "time.Until": true, "unix.CLOCK_REALTIME": true, "unix.Gettimeofday": true, "syscall.Gettimeofday": true,
}
