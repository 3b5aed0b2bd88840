package engine

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// outside is the engine's state as a router for the hosts behind an Outside interface. It answers
// ARP (RFC 826) and neighbour discovery (RFC 4861) for the hosts of the cell and for Port.Gateway,
// and resolves the addresses of hosts outside.
type outside struct {
	neighbours map[netip.Addr]neighbour
	linkLocal  netip.Addr // the engine's address
	frame      [virtioBytes + 128]byte
}

type neighbour struct {
	mac     mac
	known   bool
	askedNs int64
}

const (
	maxNeighbours = 4096
	askEveryNs    = 200e6

	icmpSolicitation  = 135
	icmpAdvertisement = 136
)

var broadcast = mac{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

func newOutside(router mac) *outside {
	// The interface identifier of RFC 4291 appendix A.
	a := [16]byte{
		0xfe, 0x80, 8: router[0] ^ 2, 9: router[1], 10: router[2], 11: 0xff, 12: 0xfe, 13: router[3], 14: router[4],
		15: router[5],
	}
	return &outside{neighbours: map[netip.Addr]neighbour{}, linkLocal: netip.AddrFrom16(a)}
}

// acceptOutside reports whether a frame carries an IP packet for the cell. It answers and learns
// from other frames.
func (l *loop) acceptOutside(p *port, frame []byte, kind uint16) bool {
	if mac(frame[:6]) != p.router && frame[0]&1 == 0 {
		return false
	}
	body := frame[etherBytes:]
	switch {
	case kind == etherARP:
		l.arp(p, body)
	case kind == etherIP6 && len(body) >= 64 && body[6] == unix.IPPROTO_ICMPV6 && body[7] == 255 &&
		(body[40] == icmpSolicitation || body[40] == icmpAdvertisement):
		l.discovery(p, body, mac(frame[6:12]))
	case (kind == etherIP4 || kind == etherIP6) && frame[0]&1 == 0:
		return true
	}
	return false
}

// answersFor reports whether the engine answers for an address.
func (l *loop) answersFor(p *port, a netip.Addr) bool {
	if a == p.outside.linkLocal || slices.Contains(p.Gateway, a) {
		return true
	}
	to := l.routes.find(a)
	return to != nil && to != p
}

func (l *loop) learn(p *port, a netip.Addr, m mac) {
	n := p.outside.neighbours
	if _, known := n[a]; !known && len(n) >= maxNeighbours {
		return
	}
	if l.routes.find(a) == p || slices.Contains(p.Via, a) {
		n[a] = neighbour{mac: m, known: true}
	}
}

func (l *loop) arp(p *port, b []byte) {
	if len(b) < 28 || binary.BigEndian.Uint16(b[2:]) != etherIP4 {
		return
	}
	sender := netip.AddrFrom4([4]byte(b[14:18]))
	target := netip.AddrFrom4([4]byte(b[24:28]))
	from := mac(b[8:14])
	l.learn(p, sender, from)
	if binary.BigEndian.Uint16(b[6:]) == 1 && l.answersFor(p, target) {
		p.sendARP(2, from, target, sender)
	}
}

// sendARP sends a request (1) or a reply (2).
func (p *port) sendARP(operation byte, to mac, source, target netip.Addr) {
	b := p.outside.start(to, p.router, etherARP)
	b = append(b, 0, 1, etherIP4>>8, etherIP4&255, 6, 4, 0, operation)
	s := source.As4()
	t := target.As4()
	b = append(append(b, p.router[:]...), s[:]...)
	if operation == 1 {
		to = mac{}
	}
	p.send(append(append(b, to[:]...), t[:]...))
}

func (l *loop) discovery(p *port, ip []byte, from mac) {
	source := netip.AddrFrom16([16]byte(ip[8:24]))
	target := netip.AddrFrom16([16]byte(ip[48:64]))
	if ip[40] == icmpAdvertisement {
		l.learn(p, target, from)
		return
	}
	if !source.IsUnspecified() {
		l.learn(p, source, from)
	} else {
		source = netip.MustParseAddr("ff02::1")
	}
	if l.answersFor(p, target) {
		// Router, solicited, override; the target's address in the option of type 2.
		p.sendDiscovery(icmpAdvertisement, 0xe0, 2, from, target, source, target)
	}
}

func (p *port) sendDiscovery(kind, flags, option byte, to mac, source, destination, target netip.Addr) {
	const length = 32 // the message's length, bytes
	b := p.outside.start(to, p.router, etherIP6)
	ip := len(b)
	b = append(b, 0x60, 0, 0, 0, 0, length, unix.IPPROTO_ICMPV6, 255)
	s := source.As16()
	d := destination.As16()
	t := target.As16()
	b = append(append(b, s[:]...), d[:]...)
	b = append(b, kind, 0, 0, 0, flags, 0, 0, 0)
	b = append(append(b, t[:]...), option, 1)
	b = append(b, p.router[:]...)
	h := header{version: 6, protocol: unix.IPPROTO_ICMPV6}
	sum := uint32(h.pseudoSum(b[ip:], length))
	binary.BigEndian.PutUint16(b[ip+42:], ^fold(sum16(b[ip+40:], sum)))
	p.send(b)
}

// start begins a frame behind an empty virtio header.
func (o *outside) start(to, from mac, kind uint16) []byte {
	clear(o.frame[:virtioBytes])
	b := append(o.frame[:virtioBytes], to[:]...)
	return append(append(b, from[:]...), byte(kind>>8), byte(kind))
}

func (p *port) send(frame []byte) {
	// A lost answer needs no retry, because the host asks again.
	_, _, _ = unix.RawSyscall(unix.SYS_WRITE, uintptr(p.fd), uintptr(unsafe.Pointer(&frame[0])), uintptr(len(frame)))
}

// resolve returns the Ethernet address of a destination. If it is unknown, resolve sends a request
// and returns false.
func (l *loop) resolve(p *port, destination netip.Addr) (mac, bool) {
	hop := destination
	for _, via := range p.Via {
		if via.Is4() == hop.Is4() {
			hop = via
		}
	}
	n := p.outside.neighbours[hop]
	if n.known {
		return n.mac, true
	}
	p.counts.Unresolved++
	l.ask(p, hop)
	return mac{}, false
}

func (l *loop) ask(p *port, a netip.Addr) {
	n := p.outside.neighbours[a]
	now := l.now()
	if n.known || len(p.outside.neighbours) >= maxNeighbours || (n.askedNs > 0 && now-n.askedNs < askEveryNs) {
		return
	}
	n.askedNs = now
	p.outside.neighbours[a] = n
	if a.Is4() {
		// Without a gateway address the request is an ARP probe (RFC 5227 section 2.1.1), which
		// hosts answer too.
		source := netip.IPv4Unspecified()
		for _, g := range p.Gateway {
			if g.Is4() {
				source = g
			}
		}
		p.sendARP(1, broadcast, source, a)
		return
	}
	// To the solicited-node address (RFC 4291 clause 2.7.1).
	t := a.As16()
	group := netip.AddrFrom16([16]byte{0xff, 2, 11: 1, 12: 0xff, 13: t[13], 14: t[14], 15: t[15]})
	p.sendDiscovery(icmpSolicitation, 0, 1, mac{0x33, 0x33, 0xff, t[13], t[14], t[15]}, p.outside.linkLocal, group, a)
}

// askAll asks for every host and router outside that is named and not known yet.
func (l *loop) askAll(p *port) {
	for _, a := range p.Via {
		l.ask(p, a)
	}
	for _, a := range p.Addresses {
		if a.IsSingleIP() && len(p.Via) == 0 {
			l.ask(p, a.Addr())
		}
	}
}
