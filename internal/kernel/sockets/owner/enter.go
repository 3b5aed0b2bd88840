package owner

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// ErrNetNSGone means that a network namespace has ended, or that its path now leads to another one.
var ErrNetNSGone = errors.New("the network namespace is gone")

// InNetNS calls f on a thread that has entered the namespace; sockets that f opens belong to the
// namespace. Without the privilege to enter (CAP_SYS_ADMIN) the error is an os.ErrPermission. A
// thread that cannot return is not used again.
func InNetNS(ns NetNS, f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		restored, err := onThisThread(ns, f)
		if restored {
			runtime.UnlockOSThread()
		} // else the thread ends with this goroutine, because it is in the wrong namespace
		result <- err
	}()
	return <-result
}

func onThisThread(ns NetNS, f func() error) (restored bool, err error) {
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true, fmt.Errorf("opening the own network namespace: %w", err)
	}
	defer unix.Close(own)
	target, err := unix.Open(ns.Path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return true, fmt.Errorf("opening network namespace %s: %w", ns, err)
	case err != nil:
		return true, ErrNetNSGone
	}
	defer unix.Close(target)
	// The process of this path may have moved or ended since the namespaces were listed.
	if inode, err := NetNSOfFD(target, ns.Path); err != nil || inode != ns.Inode {
		return true, ErrNetNSGone
	}
	if err := unix.Setns(target, unix.CLONE_NEWNET); err != nil {
		return true, fmt.Errorf("entering network namespace %s: %w", ns, err)
	}
	err = f()
	return unix.Setns(own, unix.CLONE_NEWNET) == nil, err
}
