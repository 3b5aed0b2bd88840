//go:build kernel

package trace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
	"airtide/test/need"
)

// smallDisk mounts a file system of a mebibyte.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	need.Root(t)
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"))
	t.Cleanup(func() { must(t, unix.Unmount(dir, 0)) })
	return dir
}

func TestFullDiskKeepsWhatWasWritten(t *testing.T) {
	path := filepath.Join(smallDisk(t), "x.atr")
	w := create(t, path)
	batch := transfers(MaxBlockRows, 3, 1)
	written := 0
	var err error
	for written < 100*MaxBlockRows {
		if err = w.Samples(batch); err != nil {
			break
		}
		written += batch.Len()
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("error %v, want ENOSPC", err)
	}
	for _, want := range []string{path, "stays readable", "free some space"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	for name, again := range map[string]error{
		"samples": w.Samples(batch), "flow": w.Flow(flowNumber(1)), "event": w.Event(&tcp.Event{}),
		"lost": w.Lost(&tcp.Loss{}), "flush": w.Flush(), "close": w.Close(), "second close": w.Close(),
	} {
		if again != err {
			t.Errorf("%s after the error: %v, want the same", name, again)
		}
	}
	got, damage := scan(t, path, ScanOptions{})
	if len(got.rows) != written || written == 0 {
		t.Errorf("%d samples, want the %d that were written", len(got.rows), written)
	}
	if damage.TailBytes != 0 || damage.SkippedBytes != 0 || damage.CleanEnd {
		t.Errorf("damage: %+v", damage)
	}
}

func TestDiskThatIsFullAtOnceLeavesNoFile(t *testing.T) {
	dir := smallDisk(t)
	must(t, os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 1<<20), 0o600))
	path := filepath.Join(dir, "x.atr")
	if _, err := Create(path, HostMetadata(), Options{}); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("error %v, want ENOSPC", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file was left behind: %v", err)
	}
}
