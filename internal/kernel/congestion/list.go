package congestion

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Entry is a congestion control of airtide that is registered now.
type Entry struct {
	Name       string     `json:"name"`
	Kind       Kind       `json:"kind"`
	Parameters Parameters `json:"parameters"`
	// Sockets is the number of connections that use it.
	Sockets uint64 `json:"sockets"`
	// Pin is the file that keeps it, "" when Processes do.
	Pin       string `json:"pin,omitempty"`
	Processes []int  `json:"processes,omitempty"`
	linkID    link.ID
	maps      map[string]ebpf.MapID
}

// List finds airtide's congestion controls by name, including those of other processes. bpffs is
// the mount point of the BPF file system, or "" for DefaultBPFFS.
func List(bpffs string) ([]Entry, error) {
	all, err := Registered()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	pins, err := pinned(bpffs)
	if err != nil {
		return nil, err
	}
	for i := range all {
		e := &all[i]
		e.Pin = pins[e.linkID]
		if e.Pin == "" {
			e.Processes = holders(e.linkID)
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Find returns the entry with a name, or ErrNotLoaded.
func Find(bpffs, name string) (*Entry, error) {
	all, err := List(bpffs)
	if err != nil {
		return nil, err
	}
	return named(all, name)
}

func named(all []Entry, name string) (*Entry, error) {
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	available, err := Available()
	if err != nil {
		return nil, err
	}
	if slices.Contains(available, name) {
		return nil, fmt.Errorf("%s: %w: it is the kernel's own or another program's", name, ErrNotLoaded)
	}
	return nil, fmt.Errorf("%s: %w", name, ErrNotLoaded)
}

// Registered is List without the holders of each entry, which take far longer to find.
func Registered() ([]Entry, error) {
	for {
		all, err := walkLinks()
		// bpf_link_by_id refuses a link of any kind while another process sets it up.
		if !errors.Is(err, unix.EAGAIN) {
			return all, err
		}
		time.Sleep(time.Millisecond)
	}
}

func walkLinks() ([]Entry, error) {
	var (
		all []Entry
		l   *layout
		it  link.Iterator
	)
	defer it.Close()
	for it.Next() {
		info, err := it.Link.Info()
		if err != nil || info.Type != link.StructOpsType {
			continue // gone meanwhile, or of another kind
		}
		id, err := mapOfLink(it.Link)
		if err != nil {
			return nil, err
		}
		if l == nil {
			l, err = kernelLayout()
			if err != nil {
				return nil, err
			}
		}
		e, err := entry(l, id)
		if errors.Is(err, os.ErrNotExist) {
			continue // gone meanwhile
		}
		if err != nil {
			return nil, err
		}
		if e != nil {
			e.linkID = info.ID
			all = append(all, *e)
		}
	}
	if err := it.Err(); err != nil {
		return nil, fmt.Errorf("walking the kernel's BPF links: %w", explain(err))
	}
	return all, nil
}

// mapOfLink reads the number of the structure's map from /proc, as
// bpf_struct_ops_map_link_show_fdinfo prints it.
func mapOfLink(l link.Link) (ebpf.MapID, error) {
	fd, ok := l.(interface{ FD() int })
	if !ok {
		return 0, errors.New("reading a BPF link: it has no descriptor")
	}
	n, err := fdinfo(filepath.Join("/proc/self/fdinfo", strconv.Itoa(fd.FD())), "map_id")
	if err != nil {
		return 0, fmt.Errorf("reading a BPF link: %w", err)
	}
	return ebpf.MapID(n), nil
}

// entry reads a registered structure; nil when airtide did not make it.
func entry(l *layout, id ebpf.MapID) (*Entry, error) {
	ops, err := ebpf.NewMapFromID(id)
	if err != nil {
		return nil, fmt.Errorf("opening a congestion control: %w", err)
	}
	defer ops.Close()
	info, err := ops.Info()
	if err != nil {
		return nil, fmt.Errorf("reading a congestion control: %w", err)
	}
	if info.Name != opsMapName {
		return nil, nil
	}
	name, programs, err := l.read(ops)
	if err != nil {
		return nil, err
	}
	e := &Entry{Name: name, maps: map[string]ebpf.MapID{}}
	for _, id := range programs {
		if err := mapsOfProgram(id, e.maps); err != nil {
			return nil, err
		}
	}
	var raw []byte
	if err := e.read(
		parametersMapName, func(m *ebpf.Map) error { raw, err = m.LookupBytes(uint32(0)); return err },
	); err != nil {
		return nil, err
	}
	k, p, ok := fromWire(raw)
	if !ok {
		return nil, nil
	}
	e.Kind = k
	e.Parameters = p
	e.Sockets, err = e.sockets()
	return e, err
}

// The maps of the programs, by the names that bpf/cc_* give them.
const (
	opsMapName        = "congestion_ops"
	parametersMapName = ".rodata.airtide"
	usageMapName      = "usage"
)

func mapsOfProgram(id ebpf.ProgramID, names map[string]ebpf.MapID) error {
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return fmt.Errorf("opening a congestion control's program: %w", err)
	}
	defer p.Close()
	info, err := p.Info()
	if err != nil {
		return fmt.Errorf("reading a congestion control's program: %w", err)
	}
	ids, _ := info.MapIDs()
	for _, id := range ids {
		m, err := ebpf.NewMapFromID(id)
		if err != nil {
			return fmt.Errorf("opening a congestion control's map: %w", err)
		}
		info, err := m.Info()
		m.Close()
		if err != nil {
			return fmt.Errorf("reading a congestion control's map: %w", err)
		}
		names[info.Name] = id
	}
	return nil
}

// read opens a map of the congestion control and calls f with it. Without such a map it does not
// call f.
func (e *Entry) read(name string, f func(*ebpf.Map) error) error {
	id, ok := e.maps[name]
	if !ok {
		return nil
	}
	m, err := ebpf.NewMapFromID(id)
	if err != nil {
		return fmt.Errorf("opening %s of %s: %w", name, e.Name, err)
	}
	defer m.Close()
	if err := f(m); err != nil {
		return fmt.Errorf("reading %s of %s: %w", name, e.Name, err)
	}
	return nil
}

// sockets is the number of connections that use it now.
func (e *Entry) sockets() (n uint64, err error) {
	err = e.read(usageMapName, func(m *ebpf.Map) error {
		var u cubicCcUsage
		if err := m.Lookup(uint32(0), &u); err != nil {
			return err
		}
		// A socket that ended between the two reads has been counted as begun.
		n = u.Begun - min(u.Ended, u.Begun)
		return nil
	})
	return n, err
}

// pinned maps links to the files that keep them.
func pinned(bpffs string) (map[link.ID]string, error) {
	if bpffs == "" {
		bpffs = DefaultBPFFS
	}
	folder := filepath.Join(bpffs, pinFolder)
	files, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading pins: %w", err)
	}
	pins := map[link.ID]string{}
	for _, f := range files {
		path := filepath.Join(folder, f.Name())
		l, err := link.LoadPinnedLink(path, nil)
		if err != nil {
			continue // gone meanwhile, or none of ours
		}
		if info, err := l.Info(); err == nil {
			pins[info.ID] = path
		}
		l.Close()
	}
	return pins, nil
}
