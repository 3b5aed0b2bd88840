package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airtide/internal/sys/lock"
)

// useLock makes tests of the lock independent of a lab on this machine.
func useLock(t *testing.T) {
	t.Helper()
	before := lockPath
	lockPath = filepath.Join(t.TempDir(), "lab.lock")
	t.Cleanup(func() { lockPath = before })
}

// The holder writes its name behind locking.
func TestALabIsNamedBeforeItWritesItsName(t *testing.T) {
	useLock(t)
	held, err := lock.Try(lockPath)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	_, err = lockMachine("second")
	if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), fmt.Sprintf("wait for process %d (", os.Getpid())) {
		t.Errorf("got %v", err)
	}
}
