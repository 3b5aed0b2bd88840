// Package leftover removes the remains of killed processes. Such files are named by a prefix
// and their owner: PREFIX1234 or PREFIX1234-more. Outside of the first PID namespace the name has
// that namespace, too: PREFIX1234.4026532567-more. In another PID namespace, the id may be that of
// another process, or of none.
package leftover

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/pidns"
)

// Owner returns the part behind the prefix in names of a process of this PID namespace.
func Owner(pid int) string {
	if ns, _, _ := pidns.Self(); ns != pidns.First {
		return fmt.Sprintf("%d.%d", pid, ns)
	}
	return strconv.Itoa(pid)
}

// Remove calls remove for the files of a folder whose process is gone. It ignores errors: the next
// call tries again.
func Remove(folder, prefix string, gone func(pid int) bool, remove func(path string) error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	self, _, err := pidns.Self()
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok {
			continue
		}
		pid, ns, ok := parseOwner(rest)
		if !ok {
			continue
		}
		if ns == self && gone(pid) || ns != self && self == pidns.First && pidns.Empty(ns) {
			_ = remove(filepath.Join(folder, e.Name()))
		}
	}
}

// Ended reports whether no process has the id. The id of another user's process is not ended.
func Ended(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// parseOwner reads the owner at the beginning of a name.
func parseOwner(name string) (pid int, ns uint64, ok bool) {
	owner, _, _ := strings.Cut(name, "-")
	number, namespace, inner := strings.Cut(owner, ".")
	pid, err := strconv.Atoi(number)
	if err != nil || pid <= 0 {
		return 0, 0, false
	}
	if !inner {
		return pid, pidns.First, true
	}
	ns, err = strconv.ParseUint(namespace, 10, 32)
	return pid, ns, err == nil
}
