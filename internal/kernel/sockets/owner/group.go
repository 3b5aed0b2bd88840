package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"airtide/internal/sys/leftover"
)

// Group is a cgroup for one command, by which the kernel distinguishes the sockets of the command
// and of its children from others. No controller is enabled in it.
type Group struct {
	// ID is the cgroup's, as a filter takes it.
	ID   uint64
	path string
	dir  *os.File
}

// NewGroup makes a cgroup below the cgroup of this process. Its name is the prefix and this
// process's number. Cgroups of the same prefix that killed processes left there are removed first.
func (c *Cgroups) NewGroup(prefix string) (*Group, error) {
	parent := c.mount
	if self, err := c.SelfCgroup(); err == nil {
		if below, ok := c.Path(self); ok {
			parent = filepath.Join(c.mount, below)
		}
	}
	// The kernel keeps groups that still have processes.
	leftover.Remove(parent, prefix, leftover.Ended, os.Remove)
	g := &Group{path: filepath.Join(parent, prefix+leftover.Owner(os.Getpid()))}
	err := os.Mkdir(g.path, 0o755)
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: run it as root, or in a cgroup that you may change", err)
	}
	if err != nil {
		return nil, err
	}
	g.dir, err = os.Open(g.path)
	if err != nil {
		return nil, err
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(int(g.dir.Fd()), &st); err != nil {
		return nil, fmt.Errorf("reading the inode of %s: %w", g.path, err)
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

// Remove removes the group. While a process of the command is still running, the group is kept and
// the error names the time until which it is kept.
func (g *Group) Remove(until string) error {
	defer g.dir.Close()
	var err error
	for range groupTries {
		if err = os.Remove(g.path); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		time.Sleep(groupPause)
	}
	return fmt.Errorf("a process of the command goes on running, so its cgroup stays until %s: %w", until, err)
}
