package export

import (
	"os"
	"path/filepath"
	"testing"
)

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
