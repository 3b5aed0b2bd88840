package engine

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// routes maps a destination address to its port.
type routes struct {
	hosts    map[netip.Addr]*port
	prefixes []prefix // the longest first
}

type prefix struct {
	netip.Prefix
	to *port
}

func newRoutes(ports []*port) (*routes, error) {
	r := &routes{hosts: map[netip.Addr]*port{}}
	for _, p := range ports {
		for _, a := range p.Addresses {
			if !a.IsSingleIP() {
				r.prefixes = append(r.prefixes, prefix{a.Masked(), p})
				continue
			}
			if other, taken := r.hosts[a.Addr()]; taken {
				return nil, fmt.Errorf("ports %q and %q both have address %s", other.Name, p.Name, a.Addr())
			}
			r.hosts[a.Addr()] = p
		}
	}
	slices.SortStableFunc(r.prefixes, func(a, b prefix) int { return cmp.Compare(b.Bits(), a.Bits()) })
	return r, nil
}

// find returns the port of an address, or nil. Multicast addresses have no port.
func (r *routes) find(a netip.Addr) *port {
	if p, ok := r.hosts[a]; ok {
		return p
	}
	if a.IsMulticast() {
		return nil
	}
	for i := range r.prefixes {
		if r.prefixes[i].Contains(a) {
			return r.prefixes[i].to
		}
	}
	return nil
}
