package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

const sysctlFolder = "/proc/sys"

// sysctlPath returns the file of a sysctl. As in sysctl(8), the first separator decides: dots or
// slashes. Slashes permit device names with dots.
func sysctlPath(name string) (string, error) {
	path := name
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '.' {
		path = strings.ReplaceAll(name, ".", "/")
	}
	parts := strings.Split(path, "/")
	if len(parts) < 2 || slices.ContainsFunc(parts, func(p string) bool { return p == "" || p == "." || p == ".." }) {
		return "", fmt.Errorf("%q is not the name of a sysctl, such as net.ipv4.tcp_sack", name)
	}
	if parts[0] != "net" {
		return "", fmt.Errorf(
			"sysctl %s belongs to the whole computer: a machine has only those of its network namespace, below net",
			name,
		)
	}
	return filepath.Join(sysctlFolder, path), nil
}

// setSysctl sets a sysctl of the thread's namespace and reads it back. In a namespace other than
// the first, a sysctl that is not per namespace is hidden or read-only (ensure_safe_net_sysctl in
// net/sysctl_net.c).
func setSysctl(name, value string) error {
	path, err := sysctlPath(name)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	switch err := unix.Stat(path, &st); {
	case errors.Is(err, fs.ErrNotExist):
		return &unknownSysctl{name, path}
	case err != nil:
		return fmt.Errorf("reading sysctl %s: %w", name, err)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%q is a folder of sysctls, not one", name)
	case st.Mode&0o200 == 0:
		return fmt.Errorf("sysctl %s can only be read in a network namespace: it belongs to the whole computer", name)
	}
	if err := file.Set(path, value); err != nil {
		return fmt.Errorf("setting sysctl %s to %q: the kernel refuses it: %w", name, value, err)
	}
	got, err := readSysctl(path)
	if err != nil {
		return fmt.Errorf("reading sysctl %s back: %w", name, err)
	}
	if want := strings.Join(strings.Fields(value), " "); got != want {
		return fmt.Errorf("sysctl %s was set to %q, but the kernel made it %q", name, want, got)
	}
	return nil
}

// unknownSysctl is a sysctl that the kernel does not show in a namespace.
type unknownSysctl struct{ name, path string }

func (u *unknownSysctl) Error() string { return "this kernel has no sysctl " + u.name }

// explain distinguishes sysctls that only the computer has from unknown sysctls. Call it outside of
// the namespace, because /proc/sys/net depends on the reader's namespace.
func explain(err error) error {
	var u *unknownSysctl
	if errors.As(err, &u) && exists(u.path) {
		return fmt.Errorf("sysctl %s is not per network namespace: it belongs to the whole computer", u.name)
	}
	return err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readSysctl reads values with one space between them.
func readSysctl(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return strings.Join(strings.Fields(string(b)), " "), nil
}
