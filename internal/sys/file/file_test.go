package file

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestWriteReplacesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, text := range []string{"old", "new"} {
		if err := Write(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != text {
			t.Errorf("the file has %q, want %q", got, text)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if all := names(t, filepath.Dir(path)); len(all) != 1 {
		t.Errorf("the folder has %v", all)
	}
}

func TestWriteFollowsNoPlantedLink(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	path := filepath.Join(dir, "state")
	if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{path, path + ".new"} {
		if err := os.Symlink(victim, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(path, []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := read(t, victim); got != "precious" {
		t.Errorf("the victim has %q", got)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
}

func TestAFailedWriteLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	if err := os.MkdirAll(filepath.Join(path, "content"), 0o755); err != nil { // a rename over it fails
		t.Fatal(err)
	}
	if err := Write(path, []byte("new"), 0o644); err == nil {
		t.Error("a folder was replaced")
	}
	if all := names(t, dir); len(all) != 1 {
		t.Errorf("the folder has %v", all)
	}
	if err := Write(filepath.Join(dir, "none", "state"), nil, 0o644); err == nil {
		t.Error("a file was written into a folder that does not exist")
	}
}
