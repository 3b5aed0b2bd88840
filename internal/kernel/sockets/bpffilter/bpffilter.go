// Package bpffilter gives a filter to BPF programs that are made with bpf/include/filter.h.
package bpffilter

import (
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"

	"airtide/internal/kernel/sockets/filter"
)

// Constants returns the constants that specialise the programs, by name. The filter must have been
// checked. SetConstants takes them; FillSets does the rest once the programs are loaded.
func Constants(f *filter.Filter) map[string]any {
	var ports [filter.MaxPorts]uint16
	copy(ports[:], f.Ports)
	var netns [filter.MaxNetNS]uint32
	copy(netns[:], f.NetNS)
	var cgroups [filter.MaxCgroups]uint64
	copy(cgroups[:], f.Cgroups)
	var prefixes [filter.MaxPrefixes]prefix
	for i, p := range f.Prefixes {
		prefixes[i] = words(p)
	}
	return map[string]any{
		"filter_ports_n": uint32(len(f.Ports)), "filter_ports": ports,
		"filter_prefixes_n": uint32(len(f.Prefixes)), "filter_prefixes": prefixes,
		"filter_netns_n": uint32(len(f.NetNS)), "filter_netns": netns,
		"filter_cgroups_n": uint32(len(f.Cgroups)), "filter_cgroups": cgroups,
		"filter_pids_n": uint32(len(f.PIDs)), "filter_comms_n": uint32(len(f.Comms)),
	}
}

// SetConstants writes constants into programs that are not loaded yet.
func SetConstants(spec *ebpf.CollectionSpec, values map[string]any) error {
	for name, v := range values {
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

// FillSets writes the filter's processes into the maps of programs that are loaded.
func FillSets(maps map[string]*ebpf.Map, f *filter.Filter) error {
	for _, pid := range f.PIDs {
		if err := maps["filter_pids"].Put(pid, uint8(1)); err != nil {
			return fmt.Errorf("adding process %d to the filter: %w", pid, err)
		}
	}
	for _, comm := range f.Comms {
		var key [16]byte
		copy(key[:15], comm)
		if err := maps["filter_comms"].Put(key, uint8(1)); err != nil {
			return fmt.Errorf("adding process name %q to the filter: %w", comm, err)
		}
	}
	return nil
}

// prefix is struct prefix of bpf/include/filter.h.
type prefix struct{ Addr, Mask [4]uint32 }

// words gives a prefix in the form that the programs compare: IPv4 as v4-mapped, address and mask
// in memory order.
func words(p netip.Prefix) (w prefix) {
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
