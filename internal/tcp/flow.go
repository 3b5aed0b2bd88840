package tcp

import (
	"fmt"
	"net/netip"
)

// FlowID numbers the flows of one recording or one live session, from 1, in the order of their
// first observation.
type FlowID uint32

// Flow is one end of a TCP connection: a socket of the observed host. A connection between two
// namespaces of one host is two flows.
type Flow struct {
	ID FlowID `json:"flow"`
	// Local and Remote keep the socket's own family: an IPv4 peer of an IPv6 socket is
	// ::ffff:a.b.c.d.
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	// NetNS is the inode number of the network namespace, as in /proc/PID/ns/net; 0 when unknown.
	NetNS uint32 `json:"netns"`
	// Cgroup is the cgroup v2 id (the inode of its folder) and CgroupPath its path below the v2
	// mount, "" when unknown.
	Cgroup     uint64 `json:"cgroup_id"`
	CgroupPath string `json:"cgroup"`
	// PID and Comm name the process that owns the socket. PID is 0 while the owner is unknown: not
	// found yet, or ended before its socket.
	PID  uint32 `json:"pid"`
	Comm string `json:"comm"`
	// Inode is the socket's inode, as in /proc/PID/fd; 0 when unknown or not yet accepted.
	Inode uint64 `json:"inode"`
	// CongestionControl is the algorithm's name when the flow was first seen; a change later is an
	// event.
	CongestionControl string `json:"congestion_control"`
	// FirstNs is the time of the first sight (CLOCK_MONOTONIC nanoseconds).
	FirstNs int64 `json:"first_ns"`
	// Inherited reports whether the connection was already open when the observation began.
	Inherited bool `json:"inherited"`
}

func (f *Flow) String() string {
	return fmt.Sprintf("flow %d %s > %s", f.ID, Endpoint(f.Local), Endpoint(f.Remote))
}

// Endpoint prints an address and port with a v4-mapped address shortened to its IPv4 form.
func Endpoint(ap netip.AddrPort) string {
	if !ap.IsValid() {
		return "?"
	}
	return Unmap(ap).String()
}

// Unmap turns a v4-mapped address into its IPv4 form. Both forms name the same end.
func Unmap(ap netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()) }
