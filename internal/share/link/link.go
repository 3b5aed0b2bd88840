// Package link carries the datagrams of terminals of a cell: by multicast on one interface, to
// known peers, and by way of a hub on the wired side, over IPv4 and IPv6.
package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
	"golang.org/x/sys/unix"
)

// Port is the UDP port of terminals. Group4 (organisation scope, RFC 2365) and Group6 (link scope)
// are their multicast groups.
const Port = 4748

// The groups.
var (
	Group4 = netip.MustParseAddr("239.192.47.48")
	Group6 = netip.MustParseAddr("ff02::4:4748")
)

// Config lists the ways to reach other terminals.
type Config struct {
	// Interface is the interface for multicast, and the only one for any datagram. An empty name
	// means no multicast and all interfaces.
	Interface string
	// Port to listen on, 0 for Port. All members of a group use the same.
	Port uint16
	// Peers are reached by unicast. They may include a hub.
	Peers []netip.AddrPort
}

// Addresses returns the addresses of the peers without zones.
func (c *Config) Addresses() (all []netip.Addr) {
	for _, p := range c.Peers {
		all = append(all, p.Addr().WithZone(""))
	}
	return all
}

// Families are versions of IP.
type Families struct{ Four, Six bool }

// Both reports whether both families are set.
func (f Families) Both() bool { return f.Four && f.Six }

func (f Families) has(six bool) bool { return six && f.Six || !six && f.Four }

// MaxDatagram is the longest datagram that is received.
const MaxDatagram = 2048

// Link is open until Close. Send and Receive may be called from several goroutines.
type Link struct {
	conns []*conn
	peers []netip.AddrPort
}

// conn is the socket of one family.
type conn struct {
	*net.UDPConn
	group netip.AddrPort // invalid without multicast
	six   bool
}

// Open opens the sockets. It skips a family that the machine lacks, and multicast in a family
// without an address of the interface. It returns an error if neither family works. A port in use
// means that another agent is running.
func Open(c Config) (*Link, error) {
	if c.Interface == "" && len(c.Peers) == 0 {
		return nil, errors.New(
			"opening the link to the other terminals: neither an interface for multicast nor peers are given",
		)
	}
	if c.Port == 0 {
		c.Port = Port
	}
	var device *net.Interface
	var addresses Families
	if c.Interface != "" {
		var err error
		device, err = net.InterfaceByName(c.Interface)
		if err == nil {
			addresses, err = familiesOf(device)
		}
		if err != nil {
			return nil, fmt.Errorf("opening the link to the other terminals: interface %s: %w", c.Interface, err)
		}
	}
	l := &Link{peers: c.Peers}
	var errs []error
	for _, six := range []bool{false, true} {
		one, err := listen(six, c.Port, device, addresses.has(six))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l.conns = append(l.conns, one)
	}
	for _, err := range errs {
		if len(l.conns) == 0 || errors.Is(err, unix.EADDRINUSE) {
			return nil, errors.Join(fmt.Errorf("opening the link to the other terminals: %w", errors.Join(errs...)),
				l.Close())
		}
	}
	return l, nil
}

// familiesOf returns the families of an interface's addresses. Without an address, no answer could
// arrive.
func familiesOf(device *net.Interface) (f Families, err error) {
	all, err := device.Addrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			f.Six = f.Six || n.IP.To4() == nil
			f.Four = f.Four || n.IP.To4() != nil
		}
	}
	return f, err
}

// listen opens the socket of a family. With a device it receives and sends there only, and joins
// the group if multicast is set.
func listen(six bool, port uint16, device *net.Interface, multicast bool) (*conn, error) {
	network := "udp4"
	group := Group4
	if six {
		network = "udp6"
		group = Group6
	}
	u, err := net.ListenUDP(network, &net.UDPAddr{Port: int(port)})
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is in use (another airtide share?): %w", port, err)
	}
	if err != nil {
		return nil, err
	}
	c := &conn{UDPConn: u, six: six}
	if err := c.mark(); err != nil {
		return nil, errors.Join(fmt.Errorf("marking datagrams: %w", err), u.Close())
	}
	if device == nil {
		return c, nil
	}
	if err := c.bind(device); err != nil {
		return nil, errors.Join(fmt.Errorf("binding to %s: %w", device.Name, err), u.Close())
	}
	if !multicast {
		return c, nil
	}
	if err := c.join(device, group); err != nil {
		return nil, errors.Join(fmt.Errorf("multicast on %s: %w", device.Name, err), u.Close())
	}
	// The group needs no zone, because join has selected the interface. The interface numbers that
	// package net caches may be a minute old.
	c.group = netip.AddrPortFrom(group, port)
	return c, nil
}

// classSelector5 is the mark of signalling (CS5, RFC 4594), as type of service and traffic class.
const classSelector5 = 40 << 2

// mark requests the video access category (RFC 8325), so that reports do not wait behind bulk
// transfers in a full cell.
func (c *conn) mark() error {
	if c.six {
		return ipv6.NewPacketConn(c).SetTrafficClass(classSelector5)
	}
	return ipv4.NewPacketConn(c).SetTOS(classSelector5)
}

// bind keeps other interfaces' datagrams away. It follows the choice of the port, so a second
// agent still finds the port in use, on any interface.
func (c *conn) bind(device *net.Interface) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.BindToDevice(int(fd), device.Name) })
	return errors.Join(err, failed)
}

// join joins the group on an interface and sends to it on the same link only. Multicast loopback is
// off, so that this machine does not receive its own datagrams.
func (c *conn) join(device *net.Interface, group netip.Addr) error {
	to := &net.UDPAddr{IP: group.AsSlice()}
	if c.six {
		p := ipv6.NewPacketConn(c)
		return errors.Join(p.JoinGroup(device, to), p.SetMulticastInterface(device), p.SetMulticastHopLimit(1),
			p.SetMulticastLoopback(false))
	}
	p := ipv4.NewPacketConn(c)
	return errors.Join(p.JoinGroup(device, to), p.SetMulticastInterface(device), p.SetMulticastTTL(1),
		p.SetMulticastLoopback(false))
}

// Groups returns the families in which the link uses multicast.
func (l *Link) Groups() (f Families) {
	for _, c := range l.conns {
		f.Four = f.Four || c.group.IsValid() && !c.six
		f.Six = f.Six || c.group.IsValid() && c.six
	}
	return f
}

// Send sends a datagram to all peers and to the groups of the given families. Each group takes
// airtime. Send continues after an error. It returns an error if the datagram could not be sent to
// any destination.
func (l *Link) Send(datagram []byte, groups Families) error {
	var errs []error
	sent := 0
	send := func(c *conn, to netip.AddrPort) {
		if _, err := c.WriteToUDPAddrPort(datagram, to); err != nil {
			errs = append(errs, err)
			return
		}
		sent++
	}
	for _, c := range l.conns {
		if c.group.IsValid() && groups.has(c.six) {
			send(c, c.group)
		}
		for _, p := range l.peers {
			if p.Addr().Unmap().Is6() == c.six {
				send(c, netip.AddrPortFrom(p.Addr().Unmap(), p.Port()))
			}
		}
	}
	if sent == 0 && len(errs) > 0 {
		return fmt.Errorf("sending to the other terminals: %w", errors.Join(errs...))
	}
	return nil
}

// Receive calls take with each datagram until the context ends or the link is closed; then it
// returns nil. take must not keep the datagram or block for long. Calls do not overlap. The source
// address has no zone, so that it does not depend on the interface.
func (l *Link) Receive(ctx context.Context, take func(from netip.AddrPort, datagram []byte)) error {
	stop := context.AfterFunc(ctx, func() {
		for _, c := range l.conns {
			_ = c.SetReadDeadline(time.Unix(1, 0))
		}
	})
	defer stop()
	var mu sync.Mutex
	errs := make([]error, len(l.conns))
	var all sync.WaitGroup
	for i, c := range l.conns {
		all.Go(func() {
			buffer := make([]byte, MaxDatagram)
			for {
				n, from, err := c.ReadFromUDPAddrPort(buffer)
				switch {
				case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
					return
				case errors.Is(err, unix.ECONNREFUSED):
					continue // an ICMP message: a peer is absent
				case errors.Is(err, os.ErrDeadlineExceeded):
					return
				case err != nil:
					errs[i] = fmt.Errorf("hearing the other terminals: %w", err)
					return
				}
				mu.Lock()
				take(netip.AddrPortFrom(from.Addr().Unmap().WithZone(""), from.Port()), buffer[:n])
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// Close closes the sockets.
func (l *Link) Close() error {
	var errs []error
	for _, c := range l.conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
