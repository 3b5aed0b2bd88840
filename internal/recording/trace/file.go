package trace

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

// createFile begins a file to record to and locks it. It has its name once the caller publishes it.
func createFile(path string, overwrite bool) (*file.Output, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil: // it is missing, or file.Create reports the reason
	case beingWritten(path):
		return nil, fmt.Errorf("%s %w", path, ErrLocked)
	case !overwrite:
		return nil, &file.ExistsError{Path: path}
	case !info.Mode().IsRegular():
		return nil, ofFile(path, errNotRegular)
	}
	f, err := file.Create(path, overwrite)
	if err != nil {
		return nil, err
	}
	if err := lock(f.File); err != nil {
		f.Discard()
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return f, nil
}

// checkFile reports whether the data of a recording is still in its file: it has not been deleted
// or truncated.
func checkFile(path string, fd int, size int64) error {
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil {
		return ofFile(path, err)
	}
	switch {
	case now.Nlink == 0:
		return fmt.Errorf("recording to %s: %w", path, ErrDeleted)
	case now.Size < size:
		return fmt.Errorf("recording to %s: %w", path, ErrTruncated)
	}
	return nil
}

// checkPath reports whether the file of a recording is still at its path.
func checkPath(path string, fd int) error {
	var now, named unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil {
		return ofFile(path, err)
	}
	if err := unix.Lstat(path, &named); err != nil || named.Ino != now.Ino || named.Dev != now.Dev {
		return &MovedError{path}
	}
	return nil
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
	f, err := file.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return locked(f)
}
