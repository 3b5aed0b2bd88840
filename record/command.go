package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"airtide/monitor/owner"
)

// cgroup is a folder of the cgroup v2 tree that holds the command, so that the sockets of the command and of all its
// children are told from others in the kernel. No controller is enabled in it.
type cgroup struct {
	path string
	id   uint64
	dir  *os.File
}

const cgroupPrefix = "airtide-record-"

// commandGroup makes the command's cgroup and narrows the filter to it. nil when there is no command or everything is
// to be recorded.
func commandGroup(o *Options) (*cgroup, error) {
	if len(o.Command) == 0 || o.All {
		return nil, nil
	}
	groups, err := owner.OpenCgroups()
	if errors.Is(err, owner.ErrNoCgroup2) {
		o.Notice("cgroup v2 is not mounted, so the command's connections cannot be told apart: recording all")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	parent := groups.Mount()
	if self, err := groups.SelfCgroup(); err == nil {
		if p, ok := groups.Path(self); ok {
			parent = filepath.Join(groups.Mount(), p)
		}
	}
	removeStale(parent)
	g, err := newCgroup(filepath.Join(parent, cgroupPrefix+strconv.Itoa(os.Getpid())))
	if err != nil {
		return nil, fmt.Errorf("making a cgroup for the command (record everything with --all): %w", err)
	}
	o.Monitor.Filter.Cgroups = append(o.Monitor.Filter.Cgroups, g.id)
	return g, nil
}

func newCgroup(path string) (*cgroup, error) {
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, err
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(int(dir.Fd()), &st); err != nil {
		return nil, fmt.Errorf("reading the inode of %s: %w", path, err)
	}
	return &cgroup{path: path, id: st.Ino, dir: dir}, nil
}

// remove waits a moment for processes that are still ending.
func (g *cgroup) remove() error {
	defer g.dir.Close()
	var err error
	for range 50 {
		if err = os.Remove(g.path); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("a process of the command goes on running, so its cgroup stays until a later recording: %w", err)
}

// removeStale removes what recordings that were killed have left. A cgroup that still has processes refuses.
func removeStale(parent string) {
	left, err := filepath.Glob(filepath.Join(parent, cgroupPrefix+"*"))
	if err != nil {
		return
	}
	for _, path := range left {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(path), cgroupPrefix))
		if err != nil || syscall.Kill(pid, 0) == nil {
			continue
		}
		_ = os.Remove(path)
	}
}

// startCommand starts the command in the group. When ctx ends it is interrupted, and killed two seconds later.
func startCommand(ctx context.Context, args []string, g *cgroup) (*exec.Cmd, error) {
	if len(args) == 0 {
		return nil, nil
	}
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 2 * time.Second
	if g != nil {
		c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(g.dir.Fd())}
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	return c, nil
}
