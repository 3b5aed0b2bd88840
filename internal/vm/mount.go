package vm

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mounts are the file systems that programs expect. A kernel may lack the optional ones.
var mounts = []struct {
	path, kind string
	optional   bool
}{
	{"/proc", "proc", false},
	{"/sys", "sysfs", false},
	{"/dev", "devtmpfs", false},
	{"/run", "tmpfs", false},
	{"/tmp", "tmpfs", false},
	{"/sys/fs/cgroup", "cgroup2", true},
	{"/sys/fs/bpf", "bpf", true},
	{"/sys/kernel/tracing", "tracefs", true},
	{"/sys/kernel/debug", "debugfs", true},
}

func mountAll() error {
	for _, m := range mounts {
		err := unix.Mount(m.kind, m.path, m.kind, unix.MS_NOSUID, "")
		if err != nil && !m.optional && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mounting %s: %w", m.path, err)
		}
	}
	for _, folder := range []string{"/run/netns", "/run/airtide", "/var/lib", "/var/tmp"} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	return os.Setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
}
