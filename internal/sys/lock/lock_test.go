package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOneProcessHoldsALock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if Held(path) {
		t.Error("a missing file is locked")
	}
	first, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Try(path); !errors.Is(err, ErrHeld) {
		t.Errorf("the second lock gives %v", err)
	}
	if !Held(path) || !listed(path) {
		t.Error("the lock is not seen")
	}
	waited := make(chan error)
	go func() {
		second, err := Wait(t.Context(), path, Unlimited)
		if err == nil {
			err = second.Close()
		}
		waited <- err
	}()
	select {
	case err := <-waited:
		t.Fatalf("two have the lock: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	first.Close()
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if Held(path) || listed(path) {
		t.Error("the lock is held after its end")
	}
}

func TestAWaitEndsAtItsLimitAndNamesTheHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	_, err = Wait(t.Context(), path, 20*time.Millisecond)
	held, ok := errors.AsType[*HeldError](err)
	if !ok || !errors.Is(err, ErrHeld) || held.Path != path {
		t.Fatalf("after the limit: %v", err)
	}
	if held.Holder.PID != os.Getpid() || !strings.Contains(held.Holder.Command, filepath.Base(os.Args[0])) {
		t.Errorf("the holder is %s, want this process", held.Holder)
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	cause := errors.New("a signal")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
	_, err = Wait(ctx, path, Unlimited)
	if !errors.Is(err, cause) || errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("got %v, want the cause and the holder", err)
	}
}

// Somebody may plant a FIFO where a result has its lock.
func TestAFIFOIsNotLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if Held(path) {
		t.Error("a FIFO is locked")
	}
}

func TestAFolderCanBeLocked(t *testing.T) {
	dir := t.TempDir()
	one, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	two, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	if err := WaitFile(t.Context(), one, Moment); err != nil {
		t.Fatal(err)
	}
	if err := TryFile(two); !errors.Is(err, ErrHeld) {
		t.Errorf("the second lock gives %v", err)
	}
}

// flock works on a file that is open for reading. Mode 0600 keeps the files of earlier versions,
// which had mode 0644, from other users.
func TestExistingLockFilesBecomePrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Try(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %s (%v)", info.Mode(), err)
	}
}

func TestALinkIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	path := filepath.Join(dir, "lock")
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	if _, err := Try(path); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a link gives %v", err)
	}
	if _, err := os.Lstat(target); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the target of the link: %v", err)
	}
}
