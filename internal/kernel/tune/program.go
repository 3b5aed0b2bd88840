package tune

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/sockets/bpffilter"
	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/kernel/sockets/owner"
)

// programs are the loaded BPF programs and their maps.
type programs struct {
	*ebpf.Collection
	bounders []*congestion.Bounder
}

func (p *programs) close() {
	p.Close()
	for _, b := range p.bounders {
		_ = b.Close()
	}
}

// Names of maps and programs in bpf/tune*.
const (
	storageMap     = "tuned_sockets"
	configMap      = "config"
	countsMap      = "counts"
	walkMap        = "walk_order"
	applyProgram   = "walk_apply"
	readProgram    = "walk_read"
	releaseProgram = "walk_release"
	hookProgram    = "tune_new"
)

// load loads the programs for a selection. A nil selection loads only the walk over changed
// sockets.
func load(storage *ebpf.Map, s *Selection) (*programs, error) {
	spec, err := loadSockets()
	if err != nil {
		return nil, fmt.Errorf("reading the embedded object: %w", err)
	}
	// Unused programs are removed, so that the kernel does not verify them.
	if s == nil {
		delete(spec.Programs, hookProgram)
		delete(spec.Programs, applyProgram)
	} else {
		delete(spec.Programs, releaseProgram)
		constants, err := s.constants()
		if err != nil {
			return nil, err
		}
		if err := bpffilter.SetConstants(spec, constants); err != nil {
			return nil, err
		}
	}
	c, err := ebpf.NewCollectionWithOptions(spec,
		ebpf.CollectionOptions{MapReplacements: map[string]*ebpf.Map{storageMap: storage}})
	if err != nil {
		return nil, explain(err)
	}
	p := &programs{Collection: c}
	if s != nil {
		err = bpffilter.FillSets(p.Maps, &s.Filter)
	}
	if err := errors.Join(err, p.connectBounds()); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// constants returns the constants that specialise the programs.
func (s *Selection) constants() (map[string]any, error) {
	cookies, err := netnsCookies(s.NetNS)
	if err != nil {
		return nil, err
	}
	values := bpffilter.Constants(&s.Filter)
	values["filter_netns_cookies"] = cookies
	return values, nil
}

// netnsCookies asks each namespace for its cookie (SO_NETNS_COOKIE, Linux 5.14).
func netnsCookies(inodes []uint32) (cookies [filter.MaxNetNS]uint64, err error) {
	if len(inodes) == 0 {
		return cookies, nil
	}
	list, err := namespaces(inodes)
	if err != nil {
		return cookies, err
	}
	for i, ns := range list {
		err := owner.InNetNS(ns, func() error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			cookies[i], err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
			return err
		})
		if err != nil {
			return cookies, fmt.Errorf("asking network namespace %s for its cookie: %w", ns, err)
		}
	}
	return cookies, nil
}

// connectBounds gives the programs access to the bounds of each loaded cubic_bound. Kernels without
// struct_ops have none.
func (p *programs) connectBounds() error {
	all, err := congestion.Registered()
	if errors.Is(err, congestion.ErrNotSupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for %s: %w", congestion.CubicBound, err)
	}
	for _, e := range all {
		if e.Kind != congestion.CubicBound {
			continue
		}
		b, err := congestion.OpenBounds(e.Name)
		if errors.Is(err, congestion.ErrNotLoaded) {
			continue // unloaded meanwhile
		}
		if err != nil {
			return err
		}
		p.bounders = append(p.bounders, b)
		var key [16]byte
		copy(key[:15], e.Name)
		sockets, changed := b.Maps()
		if err := errors.Join(
			p.Maps["bounds_by_name"].Put(key, sockets), p.Maps["changed_by_name"].Put(key, changed),
		); err != nil {
			return fmt.Errorf("connecting the bounds of %s: %w", e.Name, err)
		}
	}
	return nil
}
