package owner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// namedNetNS is the folder in which `ip netns` keeps its names.
const namedNetNS = "/run/netns"

// NetNS is a network namespace that can be opened.
type NetNS struct {
	Inode uint32
	Name  string // name in `ip netns`, or ""
	PID   uint32 // the lowest pid that lives in it, 0 when none is seen
	Path  string // opens it: a mount, else /proc/PID/ns/net
}

func (n NetNS) String() string {
	switch {
	case n.Name != "":
		return fmt.Sprintf("%s (%d)", n.Name, n.Inode)
	case n.PID != 0:
		return fmt.Sprintf("%d (process %d)", n.Inode, n.PID)
	}
	return strconv.FormatUint(uint64(n.Inode), 10)
}

// SelfNetNS is the inode of the network namespace of the calling thread.
func SelfNetNS() (uint32, error) { return NetNSOfFile("/proc/thread-self/ns/net") }

// NetNSOfProcess is the inode of a process's network namespace. Of other users' processes it needs
// root.
func NetNSOfProcess(pid uint32) (uint32, error) {
	inode, err := NetNSOfFile(fmt.Sprintf("/proc/%d/ns/net", pid))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 0, fmt.Errorf("process %d: there is no such process", pid)
	case errors.Is(err, os.ErrPermission):
		return 0, fmt.Errorf("process %d: reading its network namespace needs root: %w", pid, err)
	}
	return inode, err
}

// NetNSOfFile returns the inode of the network namespace of a file: /proc/PID/ns/net, a bind mount
// of it, or /proc/PID/fd/N of a descriptor of it.
func NetNSOfFile(path string) (uint32, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	return NetNSOfFD(fd, path)
}

// NetNSOfFD is the inode of the network namespace behind a descriptor; path is for messages.
func NetNSOfFD(fd int, path string) (uint32, error) {
	var st unix.Stat_t
	var fsType unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, &st), unix.Fstatfs(fd, &fsType)); err != nil {
		return 0, fmt.Errorf("looking at %s: %w", path, err)
	}
	if fsType.Type != unix.NSFS_MAGIC {
		return 0, fmt.Errorf("%s is not a namespace", path)
	}
	kind, err := unix.IoctlRetInt(fd, unix.NS_GET_NSTYPE) // Linux 4.11
	if err == nil && kind != unix.CLONE_NEWNET {
		return 0, fmt.Errorf("%s is a namespace of another kind, not of the network", path)
	}
	return uint32(st.Ino), nil
}

// ParseNetNS reads a network namespace as a user writes it: a name of `ip netns`, "pid:N" for the
// namespace of a process, a path (it contains a slash), or an inode number as `ls -l
// /proc/PID/ns/net` and `lsns` show it. A name takes precedence over a number with the same digits.
// A number is not checked: its namespace may be hidden or may be created later.
func ParseNetNS(arg string) (uint32, error) {
	inode, err := parseNetNS(arg)
	if err != nil {
		return 0, fmt.Errorf("network namespace %q: %w", arg, err)
	}
	return inode, nil
}

func parseNetNS(arg string) (uint32, error) {
	if arg == "" {
		return 0, errors.New("want an inode number, a name of `ip netns`, a path, or pid:N")
	}
	if pid, ok := strings.CutPrefix(arg, "pid:"); ok {
		n, err := strconv.ParseUint(pid, 10, 31)
		if err != nil || n == 0 {
			return 0, errors.New("want a process id behind pid:, as in pid:123")
		}
		return NetNSOfProcess(uint32(n))
	}
	if strings.Contains(arg, "/") {
		return NetNSOfFile(arg)
	}
	inode, err := NetNSOfFile(filepath.Join(namedNetNS, arg))
	if err == nil {
		return inode, nil
	}
	if n, numErr := strconv.ParseUint(arg, 10, 32); numErr == nil && n != 0 {
		return uint32(n), nil
	}
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("there is no such name in %s; see: ip netns list", namedNetNS)
	}
	return 0, err
}

// ListNetNS lists the network namespaces that have a process or a visible mount (`ip netns`,
// container runtimes), in the order of their inodes. unreadable counts the processes whose
// namespace may not be read: without root, those of all other users.
func ListNetNS() (list []NetNS, unreadable int, err error) {
	found := map[uint32]NetNS{}
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("nsfs"))
	if err != nil {
		return nil, 0, fmt.Errorf("listing mounts: %w", err)
	}
	for _, m := range mounts {
		inode, ok := linkInode([]byte(m.Root))
		if !ok {
			continue
		}
		ns := NetNS{Inode: inode, Path: m.Mountpoint}
		if dir, name := filepath.Split(m.Mountpoint); dir == namedNetNS+"/" || dir == "/var"+namedNetNS+"/" {
			ns.Name = name
		}
		if old, seen := found[inode]; seen && (old.Name != "" || ns.Name == "") {
			continue
		}
		// Something else may be mounted over it.
		if now, err := NetNSOfFile(m.Mountpoint); err == nil && now == inode {
			found[inode] = ns
		}
	}
	unreadable, err = addProcessNetNS(found)
	if err != nil {
		return nil, 0, err
	}
	for _, ns := range found {
		list = append(list, ns)
	}
	slices.SortFunc(list, func(a, b NetNS) int { return int(int64(a.Inode) - int64(b.Inode)) })
	return list, unreadable, nil
}

// linkInode reads the inode of a network namespace, net:[4026532001].
func linkInode(link []byte) (uint32, bool) {
	const before = "net:["
	if len(link) < len(before)+2 || string(link[:len(before)]) != before || link[len(link)-1] != ']' {
		return 0, false
	}
	n, ok := decimal(link[len(before) : len(link)-1])
	return uint32(n), ok
}

func addProcessNetNS(found map[uint32]NetNS) (unreadable int, err error) {
	var dir directory
	pids, err := dir.pids(nil)
	if err != nil {
		return 0, err
	}
	var link [64]byte
	for _, pid := range pids {
		path := fmt.Sprintf("/proc/%d/ns/net", pid)
		n, err := unix.Readlink(path, link[:])
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			unreadable++
		}
		if err != nil {
			continue
		}
		inode, ok := linkInode(link[:n])
		if !ok {
			continue
		}
		ns, seen := found[inode]
		if !seen {
			ns = NetNS{Inode: inode, Path: path}
		}
		if ns.PID == 0 {
			ns.PID = pid
		}
		found[inode] = ns
	}
	return unreadable, nil
}
