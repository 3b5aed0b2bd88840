//go:build kernel

package vm

import (
	"os"
	"path/filepath"
	"testing"

	"airtide/test/need"
)

// finishRoot makes a root folder in which programs find their libraries. A second call changes
// nothing.
func TestARootIsFinished(t *testing.T) {
	need.Root(t)
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "usr/bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := finishRoot(root); err != nil {
			t.Fatal(err)
		}
	}
	if to, err := os.Readlink(filepath.Join(root, "lib64")); err != nil || to != "usr/lib64" {
		t.Errorf("lib64 is %s, %v", to, err)
	}
	if info, err := os.Stat(filepath.Join(root, "dev/null")); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Errorf("dev/null is %v, %v", info, err)
	}
	got := installed.FindAllStringSubmatch(
		"NOTE: This is only a simulation!\nInst make (4.4.1 Debian:unstable [amd64])\nConf make (4.4.1)\nInst "+
			"libc6 (2.41)\n",
		-1,
	)
	if len(got) != 2 || got[0][1] != "make" || got[1][1] != "libc6" {
		t.Errorf("packages to unpack: got %v", got)
	}
}
