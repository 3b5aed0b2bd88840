package result

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Each file of a result may be planted by somebody else: as a FIFO, as a link to a device, or as a
// sparse file of 3 GB. Reading neither waits nor fills the memory.
func TestPlantedFilesOfAResultAreRefused(t *testing.T) {
	plant := map[string]func(path string) error{
		"a FIFO":   func(path string) error { return unix.Mkfifo(path, 0o600) },
		"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a sparse file": func(path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 3<<30)
		},
	}
	for kind, make := range plant {
		dir := t.TempDir()
		for _, name := range []string{experimentFile, resultFile, SeriesFile, lockFile, reasonFile} {
			if err := make(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Open(t.Context(), dir); err == nil {
			t.Errorf("%s is an experiment", kind)
		}
		if _, err := Read(filepath.Join(dir, resultFile)); err == nil {
			t.Errorf("%s is a result", kind)
		}
		if _, err := ReadSeries(t.Context(), filepath.Join(dir, SeriesFile)); err == nil {
			t.Errorf("%s is a time series", kind)
		}
		if locked(dir) {
			t.Errorf("%s is a lock that is held", kind)
		}
	}
}

// A recording is named as one even if it is longer than a result can be.
func TestALargeRecordingIsNoResult(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.atr")
	if err := os.WriteFile(path, []byte("\x89ATR\r\n\x1a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, maxResult+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); !errors.Is(err, ErrRecording) {
		t.Errorf("got %v", err)
	}
}
