package main

import (
	"os"
	"path/filepath"
	"testing"
)

func cellFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cell.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
