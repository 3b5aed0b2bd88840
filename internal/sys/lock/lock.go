// Package lock holds locks between processes by flock(2). The kernel drops a lock with its process,
// so none is ever left behind. Lock files have mode 0600, because flock also works for readers.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld means that another process holds the lock. The error is a *HeldError.
var ErrHeld = errors.New("another process holds the lock")

// HeldError is ErrHeld with the place and the holder.
type HeldError struct {
	Path   string
	Holder Holder
}

func (e *HeldError) Error() string { return fmt.Sprintf("%s holds the lock of %s", e.Holder, e.Path) }

func (e *HeldError) Unwrap() error { return ErrHeld }

// Limits of a wait.
const (
	// Moment suits a lock that others hold for milliseconds. A holder that needs longer stands
	// still, or wants to stop this process.
	Moment = 2 * time.Second
	// Unlimited suits a lock that others hold during their whole work.
	Unlimited = time.Duration(1<<63 - 1)
)

// retryTime is the time between two tries for a lock. A blocking flock would ignore the context.
const retryTime = 5 * time.Millisecond

// Try locks a file until it is closed. It makes the file if it is missing and follows no link.
// It returns a *HeldError if another process holds the lock.
func Try(path string) (*os.File, error) {
	return open(path, TryFile)
}

// Wait is Try, but waits for another process. It returns a *HeldError after the limit, and the
// cause of the context when the context ends.
func Wait(ctx context.Context, path string, limit time.Duration) (*os.File, error) {
	return open(path, func(f *os.File) error { return WaitFile(ctx, f, limit) })
}

func open(path string, take func(*os.File) error) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	// Earlier versions made lock files that all users may read. Only the owner can change that.
	if err := f.Chmod(0o600); err != nil && !errors.Is(err, unix.EPERM) {
		return nil, errors.Join(err, f.Close())
	}
	if err := take(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// TryFile locks an open file or folder until it is closed. It returns a *HeldError if another
// process holds the lock.
func TryFile(f *os.File) error {
	err := flock(f, unix.LOCK_EX)
	if errors.Is(err, ErrHeld) {
		return &HeldError{f.Name(), findHolder(f)}
	}
	return err
}

// WaitFile is TryFile, but waits as Wait does.
func WaitFile(ctx context.Context, f *os.File, limit time.Duration) error {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	retry := time.NewTicker(retryTime)
	defer retry.Stop()
	for {
		err := flock(f, unix.LOCK_EX)
		if !errors.Is(err, ErrHeld) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting while %s holds the lock of %s: %w", findHolder(f), f.Name(), context.Cause(ctx))
		case <-deadline.C:
			return TryFile(f)
		case <-retry.C:
		}
	}
}

// flock tries once to lock a file.
func flock(f *os.File, how int) error {
	err := unix.EINTR
	for errors.Is(err, unix.EINTR) {
		err, _ = unix.Flock(int(f.Fd()), how|unix.LOCK_NB).(syscall.Errno)
	}
	switch err {
	case 0:
		return nil
	case unix.EWOULDBLOCK:
		return ErrHeld
	}
	return fmt.Errorf("locking %s: %w", f.Name(), err)
}

// Held reports whether another process holds the lock of a file or folder. It also knows for files
// that this process may not open. No file of another kind is locked.
func Held(path string) bool {
	// A planted FIFO must not make this process wait.
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.EACCES) {
		return listed(path)
	}
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return false
	}
	return errors.Is(flock(f, unix.LOCK_SH), ErrHeld)
}
