package congestion

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// EnsureBPFFS mounts a BPF file system if there is none: at DefaultBPFFS (also an empty path) or
// at an empty folder. It refuses other folders, because a mount would hide their files.
func EnsureBPFFS(at string) error {
	if at == "" {
		at = DefaultBPFFS
	}
	if isBPFFS(at) {
		return nil
	}
	if at != DefaultBPFFS {
		files, err := os.ReadDir(at)
		if err != nil {
			return fmt.Errorf("no BPF file system at %s: %w", at, err)
		}
		if len(files) > 0 {
			return fmt.Errorf("no BPF file system at %s, and the folder is not empty: a mount would hide its files", at)
		}
	}
	if err := mountBPFFS(at); err != nil {
		return fmt.Errorf("no BPF file system at %s, and mounting one failed: %w", at, err)
	}
	return nil
}

// mountBPFFS mounts a BPF file system, as bpftool does on systems without systemd.
func mountBPFFS(at string) error {
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("bpf", at, "bpf", 0, "mode=0700"); err != nil {
		return fmt.Errorf("mount -t bpf bpf %s: %w", at, err)
	}
	return nil
}
