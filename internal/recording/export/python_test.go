package export

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runPython runs a script of testdata with the Python that has the packages of
// test/requirements.txt, and decodes the JSON that it prints.
func runPython(t *testing.T, result any, script string, args ...string) {
	t.Helper()
	python := os.Getenv("AIRTIDE_PYTHON")
	if python == "" {
		python = filepath.Join(repositoryRoot(t), ".venv", "bin", "python")
	}
	if _, err := exec.LookPath(python); err != nil {
		t.Fatalf("this test reads the export back with Python, and %s is not there: run `make setup`, "+
			"or set AIRTIDE_PYTHON to a Python with the packages of test/requirements.txt", python)
	}
	var stderr strings.Builder
	cmd := exec.Command(python, append([]string{filepath.Join("testdata", script)}, args...)...)
	cmd.Stderr = &stderr
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.Output()
	if err != nil {
		if strings.Contains(stderr.String(), "ModuleNotFoundError") {
			t.Fatalf("a Python package is missing: run `make setup`\n%s", &stderr)
		}
		t.Fatalf("%s: %v\n%s", script, err, &stderr)
	}
	if err := json.Unmarshal(out, result); err != nil {
		t.Fatalf("%s printed %.200q: %v", script, out, err)
	}
}

func repositoryRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}

// exportTo plays the synthetic recording into a file.
func exportTo(t *testing.T, format Format, path string, samples int, options Options) {
	t.Helper()
	x, err := New(format, path, testMeta, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := play(x, samples); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}
