package radio

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// addresses asks for the addresses of interfaces on one connection. Package net would open a socket
// each time, which a process that gave up its rights must not.
type addresses struct{ conn *netlink.Conn }

func openAddresses() (*addresses, error) {
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, fmt.Errorf("asking for addresses: %w", err)
	}
	return &addresses{conn}, nil
}

// list returns the addresses by index of the interface.
func (a *addresses) list() (map[int][]netip.Addr, error) {
	answers, err := a.conn.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.RTM_GETADDR, Flags: netlink.Request | netlink.Dump},
		Data:   make([]byte, unix.SizeofIfAddrmsg),
	})
	if err != nil {
		return nil, fmt.Errorf("asking for addresses: %w", err)
	}
	all := map[int][]netip.Addr{}
	for _, answer := range answers {
		index, address, ok := parseAddress(answer.Data)
		if ok {
			all[index] = append(all[index], address)
		}
	}
	return all, nil
}

// parseAddress reads a struct ifaddrmsg and its attributes. Of a point-to-point link, IFA_LOCAL is
// the own address, and IFA_ADDRESS the other end's.
func parseAddress(b []byte) (index int, address netip.Addr, ok bool) {
	if len(b) < unix.SizeofIfAddrmsg {
		return 0, address, false
	}
	d, err := netlink.NewAttributeDecoder(b[unix.SizeofIfAddrmsg:])
	if err != nil {
		return 0, address, false
	}
	local := false
	for d.Next() {
		if d.Type() != unix.IFA_LOCAL && (d.Type() != unix.IFA_ADDRESS || local) {
			continue
		}
		local = d.Type() == unix.IFA_LOCAL
		address, ok = netip.AddrFromSlice(d.Bytes())
	}
	return int(binary.NativeEndian.Uint32(b[4:])), address, ok && d.Err() == nil
}
