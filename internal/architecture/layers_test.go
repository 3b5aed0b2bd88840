// Package architecture holds the rules of docs/architecture.md against the code.
package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers lists every package of the project from the top down, as the table in docs/architecture.md does. A package may
// import those of lower layers, and of its own layer those that allowed names.
var layers = [][]string{
	{"airtide/cmd/airtide", "airtide/bench/monitor", "airtide/bench/cell", "airtide/bench/fidelity", "airtide/bench/fidelity/ns3tcp", "airtide/bench/reproduce", "airtide/bench/congestion", "airtide/bench/share", "airtide/bench/kernels"},
	{"airtide/share/live", "airtide/share/metrics"},
	{"airtide/lab", "airtide/lab/show", "airtide/share"},
	{"airtide/record", "airtide/screen", "airtide/report", "airtide/lab/measure", "airtide/share/hold"},
	{"airtide/summary"},
	{"airtide/trace", "airtide/trace/export"},
	{"airtide/monitor", "airtide/doctor", "airtide/tune", "airtide/timewarp"},
	{"airtide/monitor/bpf", "airtide/monitor/diag"},
	{"airtide/lab/result", "airtide/lab/setup", "airtide/lab/workload"},
	{"airtide/lab/machine"},
	{"airtide/lab/plan"},
	{"airtide/lab/judge", "airtide/terminals", "airtide/experiments", "airtide/congestion", "airtide/share/rwnd"},
	{"airtide/fairness", "airtide/share/control", "airtide/share/hub", "airtide/share/radio"},
	{"airtide/share/allocate"},
	{"airtide/cell/live"},
	{"airtide/cell"},
	{"airtide/cell/engine", "airtide/cell/medium", "airtide/cell/path", "airtide/vm"},
	{"airtide/cell/queue"},
	{"airtide/monitor/owner", "airtide/monitor/filter/bpffilter", "airtide/share/message"},
	{"airtide/monitor/filter", "airtide/share/cellkey", "airtide/share/own", "airtide/share/link"},
	{"airtide/tcp", "airtide/clock", "airtide/awake", "airtide/thread", "airtide/paper", "airtide/kmod"},
}

// apart are packages that the product does not contain: they serve tests, and only tests and benchmarks import them.
var apart = map[string]bool{
	"airtide/internal/architecture": true, "airtide/internal/testnet": true, "airtide/internal/testmodule": true, "airtide/internal/ns3": true, "airtide/internal/benchtext": true,
	"airtide/share/simulate": true, "airtide/internal/benchlab": true, "airtide/internal/benchnet": true, "airtide/internal/benchbpf": true,
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "airtide/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("reading go list: %v", err)
		}
		all = append(all, p)
	}
}

func layerOf() map[string]int {
	m := map[string]int{}
	for i, l := range layers {
		for _, p := range l {
			m[p] = i
		}
	}
	return m
}

// pageRow is a row of the table in docs/architecture.md: its layer, "" for that of the row above, and its packages.
type pageRow struct {
	layer    string
	packages []string
}

var quoted = regexp.MustCompile("`([^`]+)`")

func pageRows(t *testing.T) (rows []pageRow) {
	t.Helper()
	_, table, found := strings.Cut(string(readFile(t, filepath.Join(root, "docs", "architecture.md"))), "\n| layer | package | what it owns |\n|---|---|---|\n")
	if !found {
		t.Fatal("docs/architecture.md has no table of layers")
	}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			return rows // the table has ended
		}
		r := pageRow{layer: strings.TrimSpace(cells[1])}
		for _, name := range quoted.FindAllStringSubmatch(cells[2], -1) {
			r.packages = append(r.packages, "airtide/"+name[1])
		}
		rows = append(rows, r)
	}
	return rows
}

// A page that says another order than the code keeps is worse than none.
func TestThePageListsTheLayers(t *testing.T) {
	const inC, tests = "C", "tests" // what stands in no layer
	var inOrder, ofTests, begin []string
	layer := ""
	for _, r := range pageRows(t) {
		if r.layer != "" {
			layer = r.layer
		}
		switch layer {
		case inC:
		case tests:
			ofTests = append(ofTests, r.packages...)
		default:
			inOrder = append(inOrder, r.packages...)
			if r.layer != "" {
				begin = append(begin, r.packages[0])
			}
		}
	}
	want := slices.Concat(layers...)
	for i := range max(len(inOrder), len(want)) {
		if i >= len(inOrder) || i >= len(want) || inOrder[i] != want[i] {
			t.Errorf("package %d from the top of docs/architecture.md and of this test is another: the page goes on with %q, the test with %q",
				i+1, inOrder[min(i, len(inOrder)):min(i+3, len(inOrder))], want[min(i, len(want)):min(i+3, len(want))])
			break
		}
	}
	for _, p := range begin {
		if !slices.ContainsFunc(layers, func(l []string) bool { return l[0] == p }) {
			t.Errorf("docs/architecture.md begins a layer with %s, which stands within one", p)
		}
	}
	if got, want := slices.Sorted(slices.Values(ofTests)), slices.Sorted(maps.Keys(apart)); !slices.Equal(got, want) {
		t.Errorf("of tests docs/architecture.md has\n%q, want\n%q", got, want)
	}
}

func TestEveryPackageStandsInALayer(t *testing.T) {
	layer, seen := layerOf(), map[string]bool{}
	for _, p := range listPackages(t) {
		seen[p.ImportPath] = true
		if _, ok := layer[p.ImportPath]; !ok && !apart[p.ImportPath] {
			t.Errorf("%s has no layer: add it to docs/architecture.md and to this test", p.ImportPath)
		}
	}
	for p := range layer {
		if !seen[p] {
			t.Errorf("%s stands in a layer and does not exist", p)
		}
	}
}

func TestImportsPointDownward(t *testing.T) {
	layer := layerOf()
	for _, p := range listPackages(t) {
		from, ok := layer[p.ImportPath]
		if !ok {
			continue
		}
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported, "airtide/") {
				continue
			}
			to, ok := layer[imported]
			switch {
			case apart[imported]:
				if !strings.HasPrefix(p.ImportPath, "airtide/bench/") {
					t.Errorf("%s imports %s, which is for tests", p.ImportPath, imported)
				}
			case ok && to <= from:
				t.Errorf("%s (layer %d) imports %s (layer %d): imports point downward only", p.ImportPath, from, imported, to)
			}
		}
	}
}

func TestTheBaseDoesNoInputOrOutput(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.ImportPath != "airtide/tcp" {
			continue
		}
		for _, imported := range p.Imports {
			switch imported {
			case "os", "io", "net", "syscall", "golang.org/x/sys/unix":
				t.Errorf("package tcp imports %s", imported)
			}
		}
	}
}
