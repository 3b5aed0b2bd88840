package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var fuzzTest = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// TestEveryFuzzTestHasACorpus looks for the inputs that make test tries with each fuzz test.
func TestEveryFuzzTestHasACorpus(t *testing.T) {
	found := 0
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, of := range fuzzTest.FindAllStringSubmatch(string(readFile(t, path)), -1) {
			found++
			inputs, err := os.ReadDir(filepath.Join(filepath.Dir(path), "testdata", "fuzz", of[1]))
			if err != nil || len(inputs) < 2 {
				t.Errorf("%s: %s has %d inputs in testdata/fuzz, want at least 2", path, of[1], len(inputs))
			}
		}
		return nil
	})
	if err != nil || found < 20 {
		t.Errorf("%d fuzz tests were found: %v", found, err)
	}
}
