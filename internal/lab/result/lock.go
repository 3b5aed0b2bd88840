package result

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const lockFile = "lock"

// lock makes this process the only one that writes into a result. The kernel drops the lock with the process, however it
// ends, so no lock is ever left behind; the file itself stays.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, explained(fmt.Errorf("locking the result: %w", err))
	}
	switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		owner := holder(f)
		f.Close()
		return nil, fmt.Errorf("another airtide%s writes into %s: wait for it, or stop it", owner, dir)
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", dir, err)
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		f.Close()
		return nil, explained(fmt.Errorf("locking %s: %w", dir, err))
	}
	return f, nil
}

// holder names the process that holds a lock.
func holder(f *os.File) string {
	b := make([]byte, 20)
	n, _ := f.ReadAt(b, 0)
	if pid := strings.TrimSpace(string(b[:n])); pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}

// locked says whether a process writes into a result.
func locked(dir string) bool {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
