package privilege

import (
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Paths are the files and folders that a process may still open.
type Paths struct {
	// Read are files, and folders with all that is in them. Missing ones are ignored.
	Read []string
	// Write are files to come: everything in their folders can be read, made and removed. If such
	// a folder is missing, this holds for the nearest one above it.
	Write []string
	// Terminals are devices that can be read, written and controlled.
	Terminals []string
}

// Confine forbids all other files to the process (Landlock), and TCP and signals to others with
// it. Links out of the folders lead nowhere. Open files stay open. A kernel without Landlock
// forbids nothing, an older one less.
func Confine(p Paths) error {
	_, _ = os.Hostname()
	var rules []landlock.Rule
	for _, path := range p.Read {
		info, err := os.Stat(path)
		if err != nil || pathless(path) {
			continue // opening it tells more than this would
		}
		if info.IsDir() {
			rules = append(rules, landlock.RODirs(path))
		} else {
			rules = append(rules, landlock.ROFiles(path))
		}
	}
	for _, path := range p.Write {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			rules = append(rules, landlock.RWDirs(path))
			continue
		}
		rules = append(rules, landlock.RWDirs(existing(filepath.Dir(path))))
	}
	for _, path := range p.Terminals {
		rules = append(rules, landlock.RWFiles(path).WithIoctlDev().IgnoreIfMissing())
	}
	if err := landlock.V7.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("confining the process to its files: %w", err)
	}
	return nil
}

// existing returns the nearest folder that exists.
func existing(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// pathless reports whether a path leads to a pipe or socket without a name, as the shell's <(...)
// does. Landlock does not forbid them, and takes no rule for them.
func pathless(path string) bool {
	var s unix.Statfs_t
	return unix.Statfs(path, &s) == nil && (s.Type == unix.PIPEFS_MAGIC || s.Type == unix.SOCKFS_MAGIC)
}

// Available are the means of the kernel to restrict a process.
type Available struct {
	Filters  bool // seccomp filters
	Landlock int  // version of Landlock's interface, 0 without
}

// Examine asks the kernel.
func Examine() (a Available) {
	// The kernel checks the action only if it has filters.
	action := uint32(unix.SECCOMP_RET_ERRNO)
	a.Filters = filterAction(&action)
	if version, err := ll.LandlockGetABIVersion(); err == nil {
		a.Landlock = version
	}
	return a
}

// filterAction reports whether the kernel has an action of filters (Linux 4.14).
func filterAction(action *uint32) bool {
	const getActionAvail = 2 // SECCOMP_GET_ACTION_AVAIL
	_, _, e := unix.Syscall(unix.SYS_SECCOMP, getActionAvail, 0, uintptr(unsafe.Pointer(action)))
	return e == 0
}
