package result

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"airtide/internal/sys/lock"
)

const lockFile = "lock"

// lockResult makes this process the only writer of a result. The kernel releases the lock when the
// process ends. The lock file remains.
func lockResult(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	f, err := lock.Try(path)
	if held, ok := errors.AsType[*lock.HeldError](err); ok {
		return nil, fmt.Errorf("%s writes into %s: wait for it, or stop it", held.Holder, dir)
	}
	if err != nil {
		return nil, adviseOnFullDisk(fmt.Errorf("locking the result: %w", err))
	}
	return f, nil
}

// locked reports whether another process writes into a result.
func locked(dir string) bool {
	return lock.Held(filepath.Join(dir, lockFile))
}
