package conn

import "net/netip"

// Ends are the addresses of a connection, as one of its ends names them. Those of a capture and of
// a recording can be compared: IPv4 addresses mapped into IPv6 are IPv4, and zones are left out.
type Ends struct{ Local, Remote netip.AddrPort }

// EndsOf returns comparable ends.
func EndsOf(local, remote netip.AddrPort) Ends { return Ends{plain(local), plain(remote)} }

// Reversed returns the ends as the other end names them.
func (e Ends) Reversed() Ends { return Ends{e.Remote, e.Local} }

func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}
