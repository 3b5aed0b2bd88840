package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/plan"
	"airtide/internal/sys/thread"
)

// Namespace is a machine in a network namespace below /run/netns.
type Namespace struct {
	// Namespace is the name below /run/netns.
	Namespace string
	name      string
	address   netip.Addr
}

// NewNamespace returns the machine of an existing namespace.
func NewNamespace(name, namespace string, address netip.Addr) *Namespace {
	return &Namespace{namespace, name, address}
}

// Name returns the machine's name in the plan.
func (n *Namespace) Name() string { return n.name }

// Address returns the machine's address in the cell.
func (n *Namespace) Address() netip.Addr { return n.address }

// ClockRate returns 1.
func (n *Namespace) ClockRate() float64 { return 1 }

// Start runs a program in the namespace.
func (n *Namespace) Start(c Command) (*Process, error) { return start(n.Namespace, c) }

// ReadNet reads a file below /proc/net in the namespace.
func (n *Namespace) ReadNet(_ context.Context, file string) (content []byte, err error) {
	err = In(n.Namespace, func() error {
		content, err = os.ReadFile(filepath.Join("/proc/thread-self/net", file))
		return err
	})
	return content, err
}

// MakeFile makes a sparse file of zeros on this computer.
func (n *Namespace) MakeFile(_ context.Context, path string, size int64) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// ApplyStack applies the stack of a plan to the namespace. Open connections keep their settings,
// except for the limits of buffers.
func (n *Namespace) ApplyStack(ctx context.Context, s plan.Stack) (missing []string, err error) {
	fail := func(err error) ([]string, error) {
		return nil, fmt.Errorf("setting up the stack of %s: %w", n.Namespace, explain(err))
	}
	if s.Congestion != "" {
		if err := setCongestion(ctx, n.Namespace, s.Congestion); err != nil {
			return fail(err)
		}
	}
	err = In(n.Namespace, func() (err error) {
		missing, err = settingsOf(s).apply()
		return err
	})
	if err != nil {
		return fail(err)
	}
	return missing, nil
}

// ReadState reads the settings of the namespace and of the whole computer.
func (n *Namespace) ReadState(context.Context) (State, error) {
	var s State
	err := In(n.Namespace, func() (err error) {
		s, err = readState()
		return err
	})
	if err == nil {
		s.Computer, err = readSysctls()
	}
	if err != nil {
		return State{}, fmt.Errorf("reading the stack of %s: %w", n.Namespace, err)
	}
	for name := range s.Sysctls {
		delete(s.Computer, name)
	}
	return s, nil
}

const (
	namespaceFolder = "/run/netns"
	ownNamespace    = "/proc/thread-self/ns/net"
)

// In calls f on a thread inside a network namespace. Sockets of f remain in the namespace;
// goroutines of f run outside of it.
func In(namespace string, f func() error) error {
	return thread.Do(func() error {
		if err := enter(namespace); err != nil {
			return err
		}
		return f()
	})
}

// enter moves this thread into a namespace. It refuses the computer's initial namespace, because an
// experiment must not change it.
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

// initialNamespace identifies the network namespace in which this process began.
var initialNamespace = func() (st unix.Stat_t) {
	_ = unix.Stat(ownNamespace, &st) // fails only in a kernel without namespaces
	return st
}()

func open(namespace string) (int, error) {
	if namespace == "" || namespace == "." || namespace == ".." || strings.Contains(namespace, "/") {
		return -1, fmt.Errorf("%q is not the name of a network namespace below %s", namespace, namespaceFolder)
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
	if st.Ino == initialNamespace.Ino && st.Dev == initialNamespace.Dev {
		unix.Close(fd)
		return -1, fmt.Errorf("network namespace %s is the computer's own: a machine needs one to itself", namespace)
	}
	return fd, nil
}
