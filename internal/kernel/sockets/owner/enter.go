package owner

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/thread"
)

// ErrNetNSGone means that a network namespace has ended, or that its path now leads to another one.
var ErrNetNSGone = errors.New("the network namespace is gone")

// InNetNS calls f on a thread that has entered the namespace; sockets that f opens belong to the
// namespace. Without the privilege to enter (CAP_SYS_ADMIN) the error is an os.ErrPermission.
func InNetNS(ns NetNS, f func() error) error {
	return thread.Do(func() error {
		if err := enter(ns); err != nil {
			return err
		}
		return f()
	})
}

// enter moves this thread into a namespace.
func enter(ns NetNS) error {
	target, err := unix.Open(ns.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("opening network namespace %s: %w", ns, err)
	case err != nil:
		return ErrNetNSGone
	}
	defer unix.Close(target)
	// The process of this path may have moved or ended since the namespaces were listed.
	if inode, err := NetNSOfFD(target, ns.Path); err != nil || inode != ns.Inode {
		return ErrNetNSGone
	}
	if err := unix.Setns(target, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering network namespace %s: %w", ns, err)
	}
	return nil
}
