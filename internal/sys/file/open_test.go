package file

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenAcceptsRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, dir, "/dev/zero", "/dev/tty0", link} {
		if f, err := Open(path); err == nil {
			t.Errorf("%s is opened: %v", path, f.Close())
		} else if !errors.Is(err, ErrNotRegular) && !errors.Is(err, unix.EISDIR) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s gives %v", path, err)
		}
		if _, err := Read(path, 1<<20); err == nil {
			t.Errorf("%s is read", path)
		}
	}
}

func TestReadHasALimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("12345678"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(path, 8); err != nil || string(text) != "12345678" {
		t.Errorf("read %q, %v", text, err)
	}
	if err := os.Truncate(path, 1<<40); err != nil { // sparse
		t.Fatal(err)
	}
	_, err := Read(path, 1<<20)
	if large, ok := errors.AsType[*TooLargeError](err); !ok || large.Limit != 1<<20 {
		t.Errorf("a file of 1 TB gives %v", err)
	}
	// The size of a file of the kernel is 0.
	if text, err := Read("/proc/self/status", 1<<20); err != nil || len(text) == 0 {
		t.Errorf("read %q, %v", text, err)
	}
	if _, err := Read("/proc/self/status", 10); err == nil {
		t.Error("a file of the kernel has no limit")
	}
}

func TestOpenStreamWaitsForTheWriterOfAPipe(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := OpenStream(ctx, fifo); err == nil {
		t.Error("a pipe without a writer is opened behind the end of its context")
	}
	go func() {
		w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
		if err == nil {
			_, _ = w.WriteString("hello")
			err = w.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}()
	f, err := OpenStream(t.Context(), fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); err != nil || string(text) != "hello" {
		t.Errorf("read %q, %v", text, err)
	}
	if _, err := OpenStream(t.Context(), "/dev/zero"); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a device gives %v", err)
	}
}
