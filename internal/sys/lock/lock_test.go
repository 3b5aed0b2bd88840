package lock

import (
	"errors"
	"os"
	"path/filepath"
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
		second, err := Wait(path)
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
	if err := WaitFile(one); err != nil {
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
	target, path := filepath.Join(dir, "target"), filepath.Join(dir, "lock")
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
