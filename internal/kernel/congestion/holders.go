package congestion

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/link"
)

// holders finds the processes that have a link open, this one included.
func holders(id link.ID) (pids []int) {
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err != nil || !strings.HasPrefix(target, "anon_inode:bpf_link") {
			continue
		}
		process := filepath.Dir(filepath.Dir(fd))
		n, err := fdinfo(filepath.Join(process, "fdinfo", filepath.Base(fd)), "link_id")
		if err != nil || link.ID(n) != id {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(process)); err == nil && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// fdinfo reads a number from a descriptor's fdinfo file in /proc.
func fdinfo(path, field string) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && name == field {
			return strconv.ParseUint(strings.TrimSpace(value), 10, 64)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("%s tells no %s", path, field)
}
