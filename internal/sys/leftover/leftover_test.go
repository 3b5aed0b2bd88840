package leftover

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestOnlyFilesOfEndedProcessesAreRemoved(t *testing.T) {
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	dead := Owner(c.Process.Pid)
	alive := Owner(os.Getpid())
	folder := filepath.Join(t.TempDir(), "[folder]*")
	keep := []string{
		"a-" + alive, "a-" + alive + "-x", "a-0", "a--5", "a-x", "a-" + dead + ".x", "b-" + dead,
	}
	for _, name := range append([]string{"a-" + dead, "a-" + dead + "-x"}, keep...) {
		if err := os.MkdirAll(filepath.Join(folder, name, "content"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	Remove(folder, "a-", Ended, os.RemoveAll)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	slices.Sort(keep)
	if !slices.Equal(left, keep) {
		t.Errorf("the folder has %v, want %v", left, keep)
	}
	Remove(filepath.Join(folder, "none"), "a-", Ended, os.RemoveAll)
}
