package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/thread"
)

const (
	namespaceFolder = "/run/netns"
	ownNamespace    = "/proc/thread-self/ns/net"
)

// In calls f on a thread inside a network namespace. Sockets that f opens stay there; goroutines that it starts do not.
func In(namespace string, f func() error) error {
	return thread.Do(func() error {
		if err := enter(namespace); err != nil {
			return err
		}
		return f()
	})
}

// enter moves this thread into a namespace. That of the computer itself is refused: an experiment must not change it.
func enter(namespace string) error {
	fd, err := open(namespace)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering network namespace %s (root is needed): %w", namespace, err)
	}
	return nil
}

// home is the namespace in which this process began.
var home = func() (st unix.Stat_t) {
	_ = unix.Stat(ownNamespace, &st) // a kernel without namespaces has nothing that could be mistaken for its own
	return st
}()

func open(namespace string) (int, error) {
	if namespace == "" || namespace == "." || namespace == ".." || strings.Contains(namespace, "/") {
		return -1, fmt.Errorf("%q is no name of a network namespace: one below %s is needed", namespace, namespaceFolder)
	}
	fd, err := unix.Open(filepath.Join(namespaceFolder, namespace), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, fmt.Errorf("there is no network namespace %s (ip netns lists them)", namespace)
	}
	if err != nil {
		return -1, fmt.Errorf("opening network namespace %s: %w", namespace, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("reading network namespace %s: %w", namespace, err)
	}
	if st.Ino == home.Ino && st.Dev == home.Dev {
		unix.Close(fd)
		return -1, fmt.Errorf("network namespace %s is the computer's own: a machine needs one to itself", namespace)
	}
	return fd, nil
}
