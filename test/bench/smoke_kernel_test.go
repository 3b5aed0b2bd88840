//go:build kernel

package bench

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airtide/test/need"
)

// A benchmark that nobody starts breaks without a sign. Each runs here with the least work. Its
// figures mean nothing.
func TestBenchmarksRun(t *testing.T) {
	need.Root(t)
	const root = "../.."
	programs := t.TempDir()
	build := exec.Command("go", "build", "-o", programs, "./test/bench/...", "./cmd/airtide")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	airtide := filepath.Join(programs, "airtide")
	results := t.TempDir()
	pages := t.TempDir()
	copyPage := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, "docs/results", name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(pages, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	situations := t.TempDir()
	runs := [][]string{
		{
			"monitor", "-airtide", airtide, "-only", "bpftrace, the f", "-rounds", "1", "-seconds", "1",
			"-streams", "2", "-sustain", "1", "-busy", "1",
		},
		{"cell", "-only", "wire", "-rounds", "1", "-seconds", "1"},
		{"congestion", "-rounds", "1", "-seconds", "1", "-streams", "2"},
		{"packets", "-airtide", airtide, "-size", "1000000", "-rounds", "1", "-page", copyPage("performance.md")},
		{"fidelity", "-airtide", airtide, "-results", results, "-only", "seed"},
		{
			"airtide", "lab", "run", "p2-table3", "-q", "-o", results, "--repeats", "1",
			"--point", "client=beagle,protocol=tcp",
		},
		{"reproduce", "-airtide", airtide, "-results", results, "-pages", pages, "-only", "p2-table3", "-no-run"},
		{"random", "-cells", "2"},
		{"ablate", "-seeds", "0", "-page", copyPage("share-ablation.md")},
		{"share", "-up-to", "2"},
		{"diagnosis", "-write", "-record", situations, "-seeds", "1", "-only", "^application$"},
		{"diagnosis", "-record", situations},
		{"diagnosis", "-judge", situations},
		{"objective", "-seeds", "1", "-only", "4 ms", "-page", copyPage("share-objective.md")},
		{
			"sensitivity", "-only", "^maxBalance$", "-tests", "^TestUnusedShares", "-page",
			copyPage("share-sensitivity.md"),
		},
		{"turns", "-seeds", "1", "-page", filepath.Join(pages, "turns.md")},
	}
	started := map[string]bool{
		"kernels": true, // by scripts/test-kernels, in the test of the scripts
		"ns3tcp":  true, // by go generate, in the test of generated code
	}
	for _, args := range runs {
		started[args[0]] = true
		t.Run(strings.Join(args[:2], " "), func(t *testing.T) {
			if slices.Contains([]string{"airtide", "diagnosis", "fidelity", "share"}, args[0]) {
				need.Lab(t)
			}
			cmd := exec.Command(filepath.Join(programs, args[0]), args[1:]...)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.ExitCode() == 3 { // a claim that one run does not hold
				err = nil
			}
			if err != nil {
				t.Errorf("%q: %v\n%s", args, err, out)
			}
		})
	}
	for _, name := range commands(t, programs) {
		if !started[name] {
			t.Errorf("no run of %s", name)
		}
	}
}

// commands returns the names of a folder's files.
func commands(t *testing.T, folder string) []string {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}
