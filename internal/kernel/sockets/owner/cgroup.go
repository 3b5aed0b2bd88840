package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// ErrNoCgroup2 means that no cgroup v2 file system is mounted.
var ErrNoCgroup2 = errors.New(
	"no cgroup v2 file system is mounted (mount one with: mount -t cgroup2 none /sys/fs/cgroup)",
)

// cgroupWalkInterval is the least time between two walks over the tree of cgroups, about 3 µs per
// folder each.
const cgroupWalkInterval = time.Second

// Cgroups translates between cgroup v2 ids and paths. The id is the inode number of the cgroup's
// folder, as returned by bpf_get_current_cgroup_id and inet_diag. Known cgroups are kept, so that a
// removed cgroup still has a name. All methods may be called from any goroutine.
type Cgroups struct {
	mount string

	mu       sync.Mutex
	byID     map[uint64]string   // path below the mount
	parents  map[uint64][]uint64 // see Ancestors
	nextWalk time.Time
}

// OpenCgroups finds the cgroup v2 mount, on hybrid systems usually /sys/fs/cgroup/unified, and
// reads the tree once.
func OpenCgroups() (*Cgroups, error) {
	point, err := CgroupMount()
	if err != nil {
		return nil, err
	}
	c := &Cgroups{mount: point, byID: map[uint64]string{}, parents: map[uint64][]uint64{}}
	if err := c.walk(); err != nil {
		return nil, fmt.Errorf("reading cgroups below %s: %w", point, err)
	}
	return c, nil
}

// CgroupMount returns the mount point of the cgroup v2 file system. If there is none, as inside `ip
// netns exec`, it mounts it for this process alone, below PrivateMounts. The error is ErrNoCgroup2
// if that fails too, for example without root.
func CgroupMount() (string, error) {
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup2"))
	if err != nil {
		return "", fmt.Errorf("listing mounts: %w", err)
	}
	point, err := wholeTree(mounts)
	if errors.Is(err, ErrNoCgroup2) {
		return mountPrivately()
	}
	return point, err
}

// PrivateMounts is the folder of mounts that only this process has, by their file descriptors.
const PrivateMounts = "/proc/self/fd/"

// mountPrivately mounts the cgroup v2 file system at no place, as long as this process runs. It
// needs Linux 5.2 or newer.
var mountPrivately = sync.OnceValues(func() (string, error) {
	context, err := unix.Fsopen("cgroup2", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return "", ErrNoCgroup2
	}
	defer unix.Close(context)
	if err := unix.FsconfigCreate(context); err != nil {
		return "", ErrNoCgroup2
	}
	mount, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return "", ErrNoCgroup2
	}
	return PrivateMounts + strconv.Itoa(mount), nil
})

// wholeTree prefers a mount of the whole tree to one of a part of it.
func wholeTree(mounts []*mountinfo.Info) (string, error) {
	if len(mounts) == 0 {
		return "", ErrNoCgroup2
	}
	whole := slices.IndexFunc(mounts, func(m *mountinfo.Info) bool { return m.Root == "/" })
	return mounts[max(whole, 0)].Mountpoint, nil
}

// Mount returns the mount point of the cgroup v2 file system.
func (c *Cgroups) Mount() string { return c.mount }

// Path returns the path of a cgroup below the mount, "/" for the root. It is unknown if the cgroup
// is outside this mount or was removed before it was first seen. An unknown id costs at most one
// walk per second.
func (c *Cgroups) Path(id uint64) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.path(id)
}

func (c *Cgroups) path(id uint64) (string, bool) {
	p, ok := c.byID[id]
	if !ok && id != 0 && time.Now().After(c.nextWalk) {
		_ = c.walk() // fails if the mount is gone: then only the known ones are found
		p, ok = c.byID[id]
	}
	return p, ok
}

// Ancestors lists the id itself and the ids of all cgroups above it, the root last. Of an unknown
// cgroup it is the id alone.
func (c *Cgroups) Ancestors(id uint64) []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ids, ok := c.parents[id]; ok {
		return ids
	}
	p, ok := c.path(id)
	if !ok {
		return []uint64{id}
	}
	ids := []uint64{id}
	for p != "/" {
		p = path.Dir(p)
		above, err := c.inode(p)
		if err != nil {
			return ids // removed meanwhile; not kept, for it may be seen again under another id
		}
		ids = append(ids, above)
	}
	c.parents[id] = ids
	return ids
}

// ID finds a cgroup by its path below the mount ("/system.slice/ssh.service"), its path in the file
// system, its id as a number, or the bare name of its folder when only one cgroup has that name.
func (c *Cgroups) ID(arg string) (uint64, error) {
	if arg == "" {
		return 0, errors.New("cgroup: want a path, a name or an id")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.Contains(arg, "/") {
		return c.idOfPath(arg)
	}
	if err := c.walk(); err != nil {
		return 0, fmt.Errorf("reading cgroups below %s: %w", c.mount, err)
	}
	var ids []uint64
	var paths []string
	for id, p := range c.byID {
		// byID keeps removed cgroups too; those cannot be meant.
		if path.Base(p) == arg && c.isThere(id, p) {
			ids = append(ids, id)
			paths = append(paths, p)
		}
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		if id, err := strconv.ParseUint(arg, 10, 64); err == nil && id != 0 {
			return id, nil
		}
		return 0, fmt.Errorf("cgroup %q: there is no such cgroup below %s; see: find %s -type d", arg, c.mount, c.mount)
	}
	slices.Sort(paths)
	return 0, fmt.Errorf("cgroup %q: %d cgroups have this name, give the path of one: %s", arg, len(ids),
		strings.Join(paths[:min(5, len(paths))], ", "))
}

func (c *Cgroups) idOfPath(arg string) (uint64, error) {
	clean := path.Clean("/" + arg)
	below := clean
	if rest, ok := strings.CutPrefix(clean, c.mount); ok && c.mount != "/" && (rest == "" || rest[0] == '/') {
		below = path.Join("/", rest)
	}
	id, err := c.inode(below)
	if err != nil {
		return 0, fmt.Errorf("cgroup %q: there is no folder %s: %w", arg, filepath.Join(c.mount, below), err)
	}
	c.byID[id] = below
	return id, nil
}

func (c *Cgroups) isThere(id uint64, p string) bool {
	now, err := c.inode(p)
	return err == nil && now == id
}

// inode is the id of a path below the mount.
func (c *Cgroups) inode(below string) (uint64, error) {
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(c.mount, below), &st); err != nil {
		return 0, err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return 0, syscall.ENOTDIR
	}
	return st.Ino, nil
}

func (c *Cgroups) walk() error {
	root := c.mount + "/" // a mount below PrivateMounts is a link
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == root {
				return err
			}
			return fs.SkipDir // removed meanwhile, or not readable
		}
		if !d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return fs.SkipDir
		}
		below := strings.TrimPrefix(name, c.mount)
		c.byID[info.Sys().(*syscall.Stat_t).Ino] = path.Join("/", below)
		return nil
	})
	c.nextWalk = time.Now().Add(cgroupWalkInterval)
	return err
}

// SelfCgroup is the cgroup v2 id of this process.
func (c *Cgroups) SelfCgroup() (uint64, error) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0, fmt.Errorf("reading own cgroup: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if p, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.idOfPath(p)
		}
	}
	return 0, errors.New("this process has no cgroup v2: /proc/self/cgroup has no line for hierarchy 0")
}
