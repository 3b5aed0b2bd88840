package architecture

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// paperCode is a short code of a paper. Names of experiments such as p4-fig8 are no codes.
var paperCode = regexp.MustCompile(`\bP[1-5]\b`)

// The short codes of the papers are for experiments/papers and docs/papers.md.
func TestSourcesNamePapersInWords(t *testing.T) {
	files, err := exec.Command("git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.go", "*.c", "*.h", "*.md",
		"*.yaml", "*.yml", "Makefile", "scripts").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(files)) {
		results := strings.HasPrefix(path, "docs/results/") || strings.Contains(path, "testdata/")
		if results || path == "docs/papers.md" || strings.HasPrefix(path, "experiments/papers/") {
			continue
		}
		for i, line := range bytes.Split(readFile(t, filepath.Join(root, path)), []byte("\n")) {
			if code := paperCode.Find(line); code != nil {
				t.Errorf("%s:%d names a paper by its code %s", path, i+1, code)
			}
		}
	}
}
