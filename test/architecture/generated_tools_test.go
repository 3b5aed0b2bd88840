//go:build tools

package architecture

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airtide/test/need"
)

// TestGeneratedCodeIsUpToDate generates everything anew in a copy of the sources and compares it
// with the committed files. It needs clang and llvm-strip of the version that scripts/setup
// installs (14, of Debian 12).
func TestGeneratedCodeIsUpToDate(t *testing.T) {
	for _, tool := range []string{"clang", "llvm-strip"} {
		need.Tool(t, tool)
	}
	dir := t.TempDir()
	files := trackedFiles(t)
	for _, f := range files {
		copyFile(t, filepath.Join(root, f), filepath.Join(dir, f))
	}
	// The copy is no git checkout, and generating must not ask for one.
	cmd := exec.Command("go", "generate", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("generating: %v\n%s", err, out)
	}
	generated := 0
	for _, f := range files {
		made := readFile(t, filepath.Join(dir, f))
		if strings.Contains(filepath.Base(f), "_bpfel.") || bytes.HasPrefix(made, []byte("# Made by go generate")) {
			generated++
		}
		if !bytes.Equal(readFile(t, filepath.Join(root, f)), made) {
			t.Errorf("%s differs from what is generated: run make generate and commit the result", f)
		}
	}
	if generated < 6 {
		t.Errorf("only %d generated files were found", generated)
	}
}

// trackedFiles are the sources: files that git knows, and new ones that it does not ignore.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-co", "--exclude-standard", "--",
		"*.go", "*.c", "*.h", "*.o", "*.csv", "*.yaml", "*.json", "go.mod", "go.sum", "*/testdata/*")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing files: %v", err)
	}
	// A file that was removed and not committed yet is still listed.
	return slices.DeleteFunc(strings.Fields(string(out)), func(f string) bool {
		_, err := os.Stat(filepath.Join(root, f))
		return errors.Is(err, os.ErrNotExist)
	})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, readFile(t, from), 0o644); err != nil {
		t.Fatal(err)
	}
}
