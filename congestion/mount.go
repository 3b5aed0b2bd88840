package congestion

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mountBPFFS mounts a BPF file system, as bpftool does where systemd has not.
func mountBPFFS(at string) error {
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("bpf", at, "bpf", 0, "mode=0700"); err != nil {
		return fmt.Errorf("mount -t bpf bpf %s: %w", at, err)
	}
	return nil
}
