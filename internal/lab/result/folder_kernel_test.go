//go:build kernel

package result

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/test/need"
)

func TestFullDiskKeepsFinishedRuns(t *testing.T) {
	need.Root(t)
	disk := t.TempDir()
	if err := unix.Mount("airtide-test", disk, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	f := mustCreate(t, disk, small)
	finish(t, f, f.Plan.Runs[0])
	run := f.Plan.Runs[1]
	a, err := f.Begin(run)
	if err != nil {
		t.Fatal(err)
	}
	// A recording fills the disk.
	filler := filepath.Join(a.Dir, "phone.airtide")
	if err := os.WriteFile(filler, make([]byte, 1<<20), 0o644); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	err = a.Finish(made(f.Plan, run))
	if !errors.Is(err, unix.ENOSPC) {
		t.Errorf("got %v", err)
	}
	says(t, err, a.Dir, "finished runs are kept", "resume")
	finished, err := f.Finished(t.Context())
	if err != nil || len(finished) != 1 || finished[f.Plan.Runs[0].ID] == nil {
		t.Errorf("finished %v, %v", finished, err)
	}
	f.Close()
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	f, err = resume(t, f.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	remaining, err := f.Remaining(t.Context())
	if err != nil || len(remaining) != 3 {
		t.Fatalf("remaining %v, %v", remaining, err)
	}
	finish(t, f, remaining...)
}
