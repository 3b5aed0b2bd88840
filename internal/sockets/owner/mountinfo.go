package owner

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// mount is a line of /proc/self/mountinfo (proc(5)).
type mount struct {
	root   string // what of the file system is mounted: "/" or a folder in it, for nsfs "net:[4026531840]"
	point  string // where
	fsType string
}

func readMounts() ([]mount, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("listing mounts: %w", err)
	}
	defer f.Close()
	mounts, err := parseMounts(f)
	if err != nil {
		return nil, fmt.Errorf("listing mounts: %w", err)
	}
	return mounts, nil
}

// parseMounts reads lines such as
//
//	41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw
//
// in which any number of optional fields stands before the single hyphen.
func parseMounts(r io.Reader) ([]mount, error) {
	var mounts []mount
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		head, tail := strings.Fields(before), strings.Fields(after)
		if !ok || len(head) < 6 || len(tail) < 1 {
			return nil, fmt.Errorf("unexpected line in mountinfo: %q", lines.Text())
		}
		mounts = append(mounts, mount{root: unescape(head[3]), point: unescape(head[4]), fsType: tail[0]})
	}
	return mounts, lines.Err()
}

// unescape undoes the octal escapes that the kernel writes for space, tab, newline and backslash.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
