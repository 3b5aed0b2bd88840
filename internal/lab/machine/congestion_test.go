package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airtide/internal/sys/lock"
)

// A process that holds the lock is named, and the end of the context ends the wait.
func TestTheHolderOfTheCongestionLockIsNamed(t *testing.T) {
	before := congestionLock
	congestionLock = filepath.Join(t.TempDir(), "congestion.lock")
	defer func() { congestionLock = before }()
	held, err := lock.Try(congestionLock)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = whileAllowed(ctx, "reno", func() error { panic("the lock is held") })
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d (", os.Getpid())) {
		t.Errorf("got %v", err)
	}
}
