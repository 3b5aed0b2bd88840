package tune

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"airtide/congestion"
	"airtide/monitor/filter"
	"airtide/monitor/owner"
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

// load loads the programs for a selection, nil when only sockets that were changed before are to be walked.
func load(storage *ebpf.Map, s *Selection) (*programs, error) {
	spec, err := loadSockets()
	if err != nil {
		return nil, fmt.Errorf("reading the embedded object: %w", err)
	}
	// What is not needed is not verified.
	if s == nil {
		delete(spec.Programs, hookProgram)
		delete(spec.Programs, applyProgram)
	} else {
		delete(spec.Programs, releaseProgram)
		if err := configure(spec, s); err != nil {
			return nil, err
		}
	}
	c, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{MapReplacements: map[string]*ebpf.Map{storageMap: storage}})
	if err != nil {
		return nil, explain(err)
	}
	p := &programs{Collection: c}
	if s != nil {
		err = p.fillSets(&s.Filter)
	}
	if err := errors.Join(err, p.connectBounds()); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// configure writes the constants that the programs are specialised with.
func configure(spec *ebpf.CollectionSpec, s *Selection) error {
	var ports [filter.MaxPorts]uint16
	copy(ports[:], s.Ports)
	var netns [filter.MaxNetNS]uint32
	copy(netns[:], s.NetNS)
	var cgroups [filter.MaxCgroups]uint64
	copy(cgroups[:], s.Cgroups)
	var prefixes [filter.MaxPrefixes]socketsPrefix
	for i, p := range s.Prefixes {
		prefixes[i] = prefixWords(p)
	}
	cookies, err := netnsCookies(s.NetNS)
	if err != nil {
		return err
	}
	for name, v := range map[string]any{
		"filter_ports_n": uint32(len(s.Ports)), "filter_ports": ports,
		"filter_prefixes_n": uint32(len(s.Prefixes)), "filter_prefixes": prefixes,
		"filter_netns_n": uint32(len(s.NetNS)), "filter_netns": netns, "filter_netns_cookies": cookies,
		"filter_cgroups_n": uint32(len(s.Cgroups)), "filter_cgroups": cgroups,
		"filter_pids_n": uint32(len(s.PIDs)), "filter_comms_n": uint32(len(s.Comms)),
	} {
		variable, ok := spec.Variables[name]
		if !ok {
			return fmt.Errorf("the embedded object has no variable %s: regenerate it", name)
		}
		if err := variable.Set(v); err != nil {
			return fmt.Errorf("setting %s: %w", name, err)
		}
	}
	return nil
}

// prefixWords gives a prefix in the form that the programs compare: IPv4 as v4-mapped, address and mask in memory order.
func prefixWords(p netip.Prefix) (w socketsPrefix) {
	n := p.Bits()
	if p.Addr().Is4() {
		n += 96
	}
	addr := p.Addr().As16()
	for i := range 16 {
		left := min(max(n-8*i, 0), 8)
		mask := byte(0xff << (8 - left))
		w.Addr[i/4] |= uint32(addr[i]) << (8 * (i % 4))
		w.Mask[i/4] |= uint32(mask) << (8 * (i % 4))
	}
	return w
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

func (p *programs) fillSets(f *filter.Filter) error {
	for _, pid := range f.PIDs {
		if err := p.Maps["filter_pids"].Put(pid, uint8(1)); err != nil {
			return fmt.Errorf("adding process %d to the selection: %w", pid, err)
		}
	}
	for _, comm := range f.Comms {
		var key [16]byte
		copy(key[:15], comm)
		if err := p.Maps["filter_comms"].Put(key, uint8(1)); err != nil {
			return fmt.Errorf("adding process name %q to the selection: %w", comm, err)
		}
	}
	return nil
}

// connectBounds lets the programs set the bounds of each cubic_bound that is loaded. Kernels without struct_ops have none.
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
		if err := errors.Join(p.Maps["bounds_by_name"].Put(key, sockets), p.Maps["changed_by_name"].Put(key, changed)); err != nil {
			return fmt.Errorf("connecting the bounds of %s: %w", e.Name, err)
		}
	}
	return nil
}
