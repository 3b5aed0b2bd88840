//go:build tools

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
