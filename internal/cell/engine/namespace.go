package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
	"airtide/internal/sys/leftover"
	named "airtide/internal/sys/namespace"
	"airtide/internal/sys/thread"
)

const (
	namespaceFolder = named.Folder
	namePrefix      = "airtide-cell-"
	// airName is the namespace of the stations' far ends; no port can be named so.
	airName = "+air"
)

// namespaceName returns the name of a port's namespace, as used by `ip netns exec`.
func namespaceName(pid int, port string) string { return namePrefix + leftover.Owner(pid) + "-" + port }

// RemoveLeftovers removes the namespaces of engines that were killed, with the devices in them.
// Start does it too.
func RemoveLeftovers() {
	removeNamespaces(func(pid int) bool { return !isEngine(pid) })
}

// isEngine reports whether the process is an engine. The PID may have been reused by another
// program.
func isEngine(pid int) bool {
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ESRCH)
	}
	// It is empty of a process that has ended and was not waited for.
	return bytes.Contains(append([]byte{0}, environment...), []byte("\x00"+childVariable+"="))
}

// removeNamespaces removes the namespaces of all engines with a chosen PID.
func removeNamespaces(chosen func(pid int) bool) {
	leftover.Remove(namespaceFolder, namePrefix, chosen, named.Remove)
}

// namespace is a network namespace of the engine.
type namespace struct {
	name  string
	ns    netns.NsHandle
	links *netlink.Handle
}

func newNamespace(name string) (*namespace, error) {
	handle, err := named.Create(name)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("network namespace %s exists already: remove it with `ip netns delete %s`", name, name)
	}
	if err != nil {
		return nil, fmt.Errorf("making network namespace %s: %w", name, err)
	}
	n := &namespace{name: name, ns: handle}
	n.links, err = netlink.NewHandleAt(n.ns, unix.NETLINK_ROUTE)
	if err != nil {
		n.close()
		return nil, fmt.Errorf("opening netlink in %s: %w", name, err)
	}
	return n, nil
}

func (n *namespace) close() {
	if n.links != nil {
		n.links.Close()
	}
	_ = n.ns.Close()
	_ = named.Remove(filepath.Join(namespaceFolder, n.name))
}

// do runs f on a thread in the namespace.
func (n *namespace) do(f func() error) error {
	return thread.Do(func() error {
		if err := netns.Set(n.ns); err != nil {
			return fmt.Errorf("entering namespace %s: %w", n.name, err)
		}
		return f()
	})
}

// sysctl sets a parameter of the namespace, by its path below /proc/sys/net.
func (n *namespace) sysctl(path, value string) error {
	return n.do(func() error { return file.Set(filepath.Join("/proc/sys/net", path), value) })
}
