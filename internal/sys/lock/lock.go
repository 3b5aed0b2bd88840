// Package lock holds locks between processes by flock(2). The kernel drops a lock with its process,
// so none is ever left behind. Lock files have mode 0600, because flock also works for readers.
package lock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrHeld says that another process holds the lock.
var ErrHeld = errors.New("another process holds the lock")

// Try locks a file until it is closed. It makes the file if it is missing and follows no link.
// It returns ErrHeld if another process holds the lock.
func Try(path string) (*os.File, error) { return open(path, unix.LOCK_EX|unix.LOCK_NB) }

// Wait is Try, but waits for another process.
func Wait(path string) (*os.File, error) { return open(path, unix.LOCK_EX) }

func open(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	// Earlier versions made lock files that all users may read. Only the owner can change that.
	if err := f.Chmod(0o600); err != nil && !errors.Is(err, unix.EPERM) {
		return nil, errors.Join(err, f.Close())
	}
	if err := flock(f, how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// TryFile locks an open file or folder until it is closed. It returns ErrHeld if another process
// holds the lock.
func TryFile(f *os.File) error { return flock(f, unix.LOCK_EX|unix.LOCK_NB) }

// WaitFile is TryFile, but waits for another process.
func WaitFile(f *os.File) error { return flock(f, unix.LOCK_EX) }

func flock(f *os.File, how int) error {
	err := unix.EINTR
	for errors.Is(err, unix.EINTR) {
		err, _ = unix.Flock(int(f.Fd()), how).(syscall.Errno)
	}
	switch err {
	case 0:
		return nil
	case unix.EWOULDBLOCK:
		return ErrHeld
	}
	return fmt.Errorf("locking %s: %w", f.Name(), err)
}

// Held says whether another process holds the lock of a file. It also knows for files that this
// process may not open.
func Held(path string) bool {
	f, err := os.Open(path)
	if errors.Is(err, unix.EACCES) {
		return listed(path)
	}
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(flock(f, unix.LOCK_SH|unix.LOCK_NB), ErrHeld)
}

// listed says whether /proc/locks has an exclusive flock of the file.
func listed(path string) bool {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return false
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return false
	}
	place := fmt.Sprintf("%02x:%02x:%s", unix.Major(stat.Dev), unix.Minor(stat.Dev), strconv.FormatUint(stat.Ino, 10))
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK  ADVISORY  WRITE 1234 00:1a:5678 0 EOF
		fields := strings.Fields(line)
		if len(fields) >= 6 && fields[1] == "FLOCK" && fields[3] == "WRITE" && fields[5] == place {
			return true
		}
	}
	return false
}
