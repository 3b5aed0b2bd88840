// Package leftover removes what killed processes could not remove. Such files are named by a prefix
// and the id of their process: PREFIX1234, or PREFIX1234-more.
package leftover

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Remove calls remove for the files of a folder whose process is gone. It ignores errors: the next
// call tries again.
func Remove(folder, prefix string, gone func(pid int) bool, remove func(path string) error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		number, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(number); ok && err == nil && pid > 0 && gone(pid) {
			_ = remove(filepath.Join(folder, e.Name()))
		}
	}
}

// Ended reports whether no process has the id. The id of another user's process is not ended.
func Ended(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }
