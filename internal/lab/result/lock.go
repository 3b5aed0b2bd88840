package result

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"airtide/internal/sys/file"
	"airtide/internal/sys/lock"
)

const lockFile = "lock"

// lockResult makes this process the only writer of a result. The kernel releases the lock when the
// process ends. The lock file remains.
func lockResult(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	f, err := lock.Try(path)
	if errors.Is(err, lock.ErrHeld) {
		return nil, fmt.Errorf("another airtide%s writes into %s: wait for it, or stop it", lockOwner(path), dir)
	}
	if err != nil {
		return nil, adviseOnFullDisk(fmt.Errorf("locking the result: %w", err))
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, adviseOnFullDisk(fmt.Errorf("locking %s: %w", dir, err))
	}
	return f, nil
}

// lockOwner returns the process that holds a lock, for a message.
func lockOwner(path string) string {
	text, err := file.Read(path, 20)
	if err != nil {
		return ""
	}
	if pid := strings.TrimSpace(string(text)); pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}

// locked reports whether another process writes into a result.
func locked(dir string) bool {
	return lock.Held(filepath.Join(dir, lockFile))
}
