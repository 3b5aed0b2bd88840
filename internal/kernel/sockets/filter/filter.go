// Package filter selects the flows that a monitor observes and the density of their samples. Both
// sources take the same filter.
package filter

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"airtide/internal/tcp"
	"airtide/internal/units"
)

// Filter selects flows. A flow must match one entry of each list that is not empty; an empty list
// matches every flow. The limits of the lists are those of the BPF source, so that both sources
// agree.
type Filter struct {
	// Ports match the local or the remote port. At most MaxPorts.
	Ports []uint16 `json:"ports,omitempty"`
	// Prefixes match the local or the remote address; an IPv4 prefix matches v4-mapped addresses
	// too. At most MaxPrefixes.
	Prefixes []netip.Prefix `json:"prefixes,omitempty"`
	// PIDs match the process that owns the socket. At most MaxPIDs.
	PIDs []uint32 `json:"pids,omitempty"`
	// Comms match the name of the process that owns the socket, at most 15 bytes as in
	// /proc/PID/comm. At most MaxPIDs.
	Comms []string `json:"comms,omitempty"`
	// Cgroups are cgroup v2 ids (inodes of the folders). A socket matches if its cgroup is one of
	// them or is below one of them. At most MaxCgroups.
	Cgroups []uint64 `json:"cgroups,omitempty"`
	// NetNS are inode numbers of network namespaces. At most MaxNetNS.
	NetNS []uint32 `json:"netns,omitempty"`
}

// The most entries that each list may have.
const (
	MaxPorts    = 64
	MaxPrefixes = 64
	MaxPIDs     = 1024
	MaxCgroups  = 64
	MaxNetNS    = 64
)

// Check returns an error that names the list that is too long or the entry that cannot match.
func (f *Filter) Check() error {
	for _, l := range []struct {
		what     string
		n, limit int
	}{
		{"ports", len(f.Ports), MaxPorts},
		{"prefixes", len(f.Prefixes), MaxPrefixes},
		{"processes", len(f.PIDs), MaxPIDs},
		{"process names", len(f.Comms), MaxPIDs},
		{"cgroups", len(f.Cgroups), MaxCgroups},
		{"network namespaces", len(f.NetNS), MaxNetNS},
	} {
		if l.n > l.limit {
			return fmt.Errorf("filter: %d %s given, at most %d are possible", l.n, l.what, l.limit)
		}
	}
	for _, c := range f.Comms {
		if c == "" || len(c) > 15 {
			return fmt.Errorf("filter: process name %q: want 1 to 15 bytes, as in /proc/PID/comm", c)
		}
	}
	return nil
}

// Empty reports whether the filter lets every flow pass.
func (f *Filter) Empty() bool {
	return len(f.Ports)+len(f.Prefixes)+len(f.PIDs)+len(f.Comms)+len(f.Cgroups)+len(f.NetNS) == 0
}

// Match reports whether the flow passes. cgroupAncestors are the ids of the flow's cgroup and of
// every cgroup above it.
func (f *Filter) Match(flow *tcp.Flow, cgroupAncestors []uint64) bool {
	if len(f.Ports) > 0 && !slices.Contains(f.Ports, flow.Local.Port()) &&
		!slices.Contains(f.Ports, flow.Remote.Port()) {
		return false
	}
	if len(f.Prefixes) > 0 && !slices.ContainsFunc(f.Prefixes, func(p netip.Prefix) bool {
		return p.Contains(flow.Local.Addr().Unmap()) || p.Contains(flow.Remote.Addr().Unmap())
	}) {
		return false
	}
	if len(f.PIDs) > 0 && !slices.Contains(f.PIDs, flow.PID) {
		return false
	}
	if len(f.Comms) > 0 && !slices.Contains(f.Comms, flow.Comm) {
		return false
	}
	if len(f.Cgroups) > 0 &&
		!slices.ContainsFunc(cgroupAncestors, func(id uint64) bool { return slices.Contains(f.Cgroups, id) }) {
		return false
	}
	return len(f.NetNS) == 0 || slices.Contains(f.NetNS, flow.NetNS)
}

// Mode selects the ACKs that become samples.
type Mode uint8

// The modes.
const (
	EveryAck Mode = iota // every segment that arrives
	// only when cwnd, ssthresh, ca_state, lost or retransmitted segments, back-off or a window
	// limit changed
	OnChange
	AtMost // at most one per flow and interval
)

// Density is a mode with its interval.
type Density struct {
	Mode  Mode
	Every time.Duration // interval of AtMost
}

// Densities describes the texts that ParseDensity reads: when a segment becomes a sample.
func Densities() []tcp.Word {
	return []tcp.Word{
		{Name: "every", Doc: "always"},
		{
			Name: "change",
			Doc:  "cwnd, ssthresh, the congestion state, losses, retransmissions, the back-off or the limit changed",
		},
		{Name: "10ms", Doc: "the last sample of the flow is at least so old"},
	}
}

// ParseDensity reads "every", "change" or a duration such as "10ms".
func ParseDensity(s string) (Density, error) {
	switch s {
	case "every", "":
		return Density{Mode: EveryAck}, nil
	case "change":
		return Density{Mode: OnChange}, nil
	}
	d, err := units.ParseDuration(s)
	if bad, ok := errors.AsType[*units.SyntaxError](err); ok && bad.Meant != "" {
		return Density{}, fmt.Errorf("density %q: did you mean %s?", s, bad.Meant)
	}
	if err != nil || d == 0 {
		return Density{}, fmt.Errorf("density %q: want every, change, or a duration such as 10ms", s)
	}
	return Density{Mode: AtMost, Every: time.Duration(d)}, nil
}

func (d Density) String() string {
	switch d.Mode {
	case OnChange:
		return "change"
	case AtMost:
		return d.Every.String()
	}
	return "every"
}

// ParsePort reads a port number.
func ParsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("port %q: want a number from 1 to 65535", s)
	}
	return uint16(n), nil
}

// ParsePrefix reads an address or a prefix; host bits are cleared.
func ParsePrefix(s string) (netip.Prefix, error) {
	if strings.Contains(s, "/") {
		p, err := netip.ParsePrefix(s)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf(
				"prefix %q: want an address or a prefix such as 192.0.2.0/24 or 2001:db8::/32", s,
			)
		}
		if p.Addr().Is4In6() && p.Bits() >= 96 { // addresses are compared as IPv4 ones
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		return p.Masked(), nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf(
			"address %q: want an address or a prefix such as 192.0.2.0/24 or 2001:db8::/32", s,
		)
	}
	a = a.Unmap()
	return netip.PrefixFrom(a, a.BitLen()), nil
}
