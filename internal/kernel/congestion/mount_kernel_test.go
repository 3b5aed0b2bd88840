//go:build kernel

package congestion

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airtide/test/need"
)

func TestABPFFileSystemHidesNoFiles(t *testing.T) {
	need.Root(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "precious")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := EnsureBPFFS(folder); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("over files: %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	missing := filepath.Join(folder, "missing")
	if err := EnsureBPFFS(missing); err == nil {
		t.Error("it mounts at a missing folder")
	}
}
