// Package leftover removes what killed processes could not remove. Such files are named by a prefix
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
)

// firstPIDNamespace is PROC_PID_INIT_INO (include/linux/proc_ns.h).
const firstPIDNamespace = 0xeffffffc

// Owner is what stands behind the prefix in the names of a process of this PID namespace.
func Owner(pid int) string {
	if ns, _ := pidNamespace("self"); ns != firstPIDNamespace {
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
	self, err := pidNamespace("self")
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
		if ns == self && gone(pid) || ns != self && self == firstPIDNamespace && empty(ns) {
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
		return pid, firstPIDNamespace, true
	}
	ns, err = strconv.ParseUint(namespace, 10, 32)
	return pid, ns, err == nil
}

// pidNamespace is the inode of the PID namespace of a process.
func pidNamespace(pid string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat(filepath.Join("/proc", pid, "ns", "pid"), &st)
	return st.Ino, err
}

// empty reports whether surely no process lives in a PID namespace, seen from the first one.
func empty(ns uint64) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		one, err := pidNamespace(e.Name())
		if err == nil && one == ns || errors.Is(err, unix.EACCES) && !hasOneID(e.Name()) {
			return false
		}
	}
	return true
}

// hasOneID reports whether a process has no id in a PID namespace below this one (proc(5), NSpid).
func hasOneID(pid string) bool {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
	if err != nil {
		return false
	}
	_, ids, found := strings.Cut(string(text), "\nNSpid:")
	ids, _, _ = strings.Cut(ids, "\n")
	return found && len(strings.Fields(ids)) == 1
}
