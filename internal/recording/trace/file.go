package trace

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

// createFile opens a file to record to and locks it. Only its owner can read it, because it holds
// addresses and process names. It does not follow a symbolic link.
func createFile(path string, overwrite bool) (*os.File, error) {
	flags := os.O_RDWR | os.O_CREATE | unix.O_NOFOLLOW
	if !overwrite {
		flags |= os.O_EXCL
	} else if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, ofFile(path, errNotRegular)
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if errors.Is(err, os.ErrExist) {
		if beingWritten(path) {
			return nil, fmt.Errorf("%s %w", path, ErrLocked)
		}
		return nil, fmt.Errorf("%s %w", path, ErrExists)
	}
	if err != nil {
		return nil, ofFile(path, err)
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s %w", path, err)
	}
	if err := errors.Join(f.Chmod(0o600), f.Truncate(0)); err != nil {
		f.Close()
		return nil, ofFile(path, err)
	}
	return f, nil
}

// lock takes the file's write lock: a lock of the open file (Linux 3.15), which the kernel drops
// when the process ends, and which a reader can ask for without taking it. A file system without
// locks is used without.
func lock(f *os.File) error {
	l := unix.Flock_t{Type: unix.F_WRLCK}
	err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &l)
	if err == unix.EAGAIN || err == unix.EACCES {
		return ErrLocked
	}
	return nil
}

// locked reports whether a writer holds the file's lock.
func locked(f *os.File) bool {
	l := unix.Flock_t{Type: unix.F_RDLCK}
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l) == nil && l.Type == unix.F_WRLCK
}

func beingWritten(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := file.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return locked(f)
}
