// Package pidns tells PID namespaces apart.
package pidns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// First is the inode of the first PID namespace in every kernel (PROC_PID_INIT_INO of
// include/linux/proc_ns.h).
const First = 0xeffffffc

// Self returns the PID namespace of this process: its inode, and the device of its file.
func Self() (inode, device uint64, err error) {
	inode, device, err = of("self")
	if err != nil {
		err = fmt.Errorf("finding the own PID namespace (is /proc mounted?): %w", err)
	}
	return inode, device, err
}

func of(process string) (inode, device uint64, err error) {
	var s unix.Stat_t
	file := filepath.Join("/proc", process, "ns", "pid")
	if err := unix.Stat(file, &s); err != nil {
		return 0, 0, &os.PathError{Op: "stat", Path: file, Err: err}
	}
	return s.Ino, s.Dev, nil
}

// Empty reports whether surely no process lives in a PID namespace, seen from the first one.
func Empty(inode uint64) bool {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		one, _, err := of(e.Name())
		if err == nil && one == inode || errors.Is(err, unix.EACCES) && !hasOneID(e.Name()) {
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
