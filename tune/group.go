package tune

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"airtide/monitor/owner"
)

// Group is a cgroup for one command, so that its sockets and those of its children are told from others. No controller is
// enabled in it.
type Group struct {
	// ID is what Selection.Cgroups takes.
	ID   uint64
	path string
	dir  *os.File
}

const groupPrefix = "airtide-tune-"

// NewGroup makes a cgroup below that of this process, and removes those that killed processes have left there.
func NewGroup() (*Group, error) {
	groups, err := owner.OpenCgroups()
	if err != nil {
		return nil, fmt.Errorf("telling the command's sockets from others: %w", err)
	}
	parent := groups.Mount()
	if self, err := groups.SelfCgroup(); err == nil {
		if below, ok := groups.Path(self); ok {
			parent = filepath.Join(groups.Mount(), below)
		}
	}
	removeLeftGroups(parent)
	g := &Group{path: filepath.Join(parent, groupPrefix+strconv.Itoa(os.Getpid()))}
	fail := func(err error) (*Group, error) { return nil, fmt.Errorf("making a cgroup for the command: %w", err) }
	if err := os.Mkdir(g.path, 0o755); err != nil {
		return fail(err)
	}
	if g.dir, err = os.Open(g.path); err != nil {
		return fail(err)
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(int(g.dir.Fd()), &st); err != nil {
		return fail(err)
	}
	g.ID = st.Ino
	return g, nil
}

// Attributes start a command in the group.
func (g *Group) Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(g.dir.Fd())}
}

// Processes that are ending hold a cgroup for a moment.
const (
	groupTries = 50
	groupPause = 20 * time.Millisecond
)

// Close removes the group. While a process of the command goes on running it stays, and the error says so.
func (g *Group) Close() error {
	defer g.dir.Close()
	var err error
	for range groupTries {
		if err = os.Remove(g.path); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		time.Sleep(groupPause)
	}
	return fmt.Errorf("a process of the command goes on running, so its cgroup stays until a later tune: %w", err)
}

// removeLeftGroups passes over groups that still have processes: the kernel does not remove them.
func removeLeftGroups(parent string) {
	left, err := filepath.Glob(filepath.Join(parent, groupPrefix+"*"))
	if err != nil {
		return
	}
	for _, path := range left {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), groupPrefix))
		if err != nil || syscall.Kill(pid, 0) == nil {
			continue
		}
		_ = os.Remove(path)
	}
}
