package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"

	"airtide/internal/share/message"
)

// socket is the socket of one address family. It answers from the local address at which a datagram
// arrived, because a terminal accepts bundles only from its configured address.
type socket struct {
	*net.UDPConn
	six bool
}

// packet is a received datagram.
type packet struct {
	socket   *socket
	from     netip.AddrPort
	local    netip.Addr
	datagram []byte
}

// listen opens a socket for an address. Without an address it opens sockets for both families and
// skips a family that the machine lacks.
func listen(at netip.AddrPort) ([]*socket, error) {
	var sockets []*socket
	var errs []error
	for _, six := range []bool{false, true} {
		if at.Addr().IsValid() && at.Addr().Unmap().Is6() != six {
			continue
		}
		s, err := open(at, six)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sockets = append(sockets, s)
		at = netip.AddrPortFrom(at.Addr(), s.port()) // both sockets have the same port
	}
	inUse := slices.IndexFunc(errs, func(err error) bool { return errors.Is(err, unix.EADDRINUSE) })
	if len(sockets) > 0 && inUse < 0 {
		return sockets, nil
	}
	err := errs[max(inUse, 0)] // one: both families mostly fail for the same reason
	for _, s := range sockets {
		err = errors.Join(err, s.Close())
	}
	return nil, err
}

func open(at netip.AddrPort, six bool) (*socket, error) {
	network := "udp4"
	if six {
		network = "udp6"
	}
	address := &net.UDPAddr{Port: int(at.Port())}
	if at.Addr().IsValid() {
		address = net.UDPAddrFromAddrPort(at)
	}
	conn, err := net.ListenUDP(network, address)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is in use; choose another by --listen: %w", at.Port(), err)
	}
	if err != nil {
		return nil, err
	}
	if six {
		err = ipv6.NewPacketConn(conn).SetControlMessage(ipv6.FlagDst, true)
	} else {
		err = ipv4.NewPacketConn(conn).SetControlMessage(ipv4.FlagDst, true)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("asking for the addresses that datagrams come to: %w", err), conn.Close())
	}
	return &socket{conn, six}, nil
}

func (s *socket) port() uint16 { return s.LocalAddr().(*net.UDPAddr).AddrPort().Port() }

// receive calls take with each datagram until the context ends. take must not keep the datagram.
func (s *socket) receive(ctx context.Context, take func(packet)) error {
	stop := context.AfterFunc(ctx, func() { _ = s.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buffer := make([]byte, message.MaxDatagram+1)
	control := make([]byte, 256)
	for {
		n, c, _, from, err := s.ReadMsgUDPAddrPort(buffer, control)
		switch {
		case ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed):
			return nil
		case errors.Is(err, unix.ECONNREFUSED):
			continue // an ICMP message: a terminal is absent
		case err != nil:
			return fmt.Errorf("hearing the terminals: %w", err)
		}
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		take(packet{s, from, s.destination(control[:c]), buffer[:n]})
	}
}

// destination returns the address to which a datagram was sent.
func (s *socket) destination(control []byte) netip.Addr {
	var ip net.IP
	if s.six {
		var m ipv6.ControlMessage
		if m.Parse(control) == nil {
			ip = m.Dst
		}
	} else {
		var m ipv4.ControlMessage
		if m.Parse(control) == nil {
			ip = m.Dst
		}
	}
	address, _ := netip.AddrFromSlice(ip)
	return address.Unmap()
}

// send sends a datagram from a local address. If that is unknown, the route decides.
func (s *socket) send(datagram []byte, to netip.AddrPort, local netip.Addr) error {
	var control []byte
	if local.IsValid() {
		if s.six {
			control = (&ipv6.ControlMessage{Src: local.AsSlice()}).Marshal()
		} else {
			control = (&ipv4.ControlMessage{Src: local.AsSlice()}).Marshal()
		}
	}
	_, _, err := s.WriteMsgUDPAddrPort(datagram, control, to)
	return err
}
