package decode

import (
	"encoding/binary"
	"slices"
	"strings"
)

// tunnel is a kind of header around another packet.
type tunnel uint8

const (
	_ tunnel = iota
	tunnelPPPoE
	tunnelMPLS
	tunnelBackbone
	tunnelNSH
	tunnelMACsec
	tunnelGRE
	tunnelERSPAN
	tunnel4in4
	tunnel6in4
	tunnel4in6
	tunnel6in6
	tunnelEtherIP
	tunnelVXLAN
	tunnelGeneve
	tunnelGTP
	tunnelL2TP
	tunnelTeredo
	tunnelTZSP
	tunnelCAPWAP
	tunnelFabric
)

var tunnelNames = [...]string{
	"", "PPPoE", "MPLS", "802.1ah", "NSH", "MACsec", "GRE", "ERSPAN", "IPv4 in IPv4", "IPv6 in IPv4", "IPv4 in IPv6",
	"IPv6 in IPv6", "EtherIP", "VXLAN", "Geneve", "GTP-U", "L2TP", "Teredo", "TZSP", "CAPWAP",
	"FabricPath",
}

// path are the tunnels around a packet, the outer one first.
type path struct {
	tunnels [maxTunnels]tunnel
	n       int
}

// maxTunnels bounds the tunnels around a packet that are named.
const maxTunnels = 6

// enter notes that the present packet lies in a tunnel. It returns false if too many lie around it.
func (d *Decoder) enter(t tunnel) bool {
	if d.path.n < maxTunnels {
		d.path.tunnels[d.path.n] = t
		d.path.n++
	}
	return !d.deep()
}

// deep reports whether a packet lies too deep, and counts it.
func (d *Decoder) deep() bool {
	d.depth++
	if d.depth <= maxDepth {
		return false
	}
	d.Counts.Bad++
	return true
}

// countTunnels counts the tunnels around a segment.
func (d *Decoder) countTunnels() {
	if d.path.n == 0 {
		return
	}
	if d.tunnels == nil {
		d.tunnels = map[path]uint64{}
	}
	if _, known := d.tunnels[d.path]; known || len(d.tunnels) < maxKinds {
		d.tunnels[d.path]++
	}
}

// String names the tunnels, the inner one first, as in "VXLAN in GRE".
func (p path) String() string {
	var names []string
	for _, t := range p.tunnels[:p.n] {
		names = append([]string{tunnelNames[t]}, names...)
	}
	return strings.Join(names, " in ")
}

// gre reads RFC 2784 with the key and the number of RFC 2890, the routes of RFC 1701, and the
// version of PPTP (RFC 2637).
func (d *Decoder) gre(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 4) || !d.enter(tunnelGRE) {
		return false
	}
	const (
		checksum = 0x8000
		routing  = 0x4000
		key      = 0x2000
		number   = 0x1000
		ack      = 0x0080
	)
	flags := binary.BigEndian.Uint16(b)
	kind := binary.BigEndian.Uint16(b[2:])
	version := flags & 7
	size := 4
	for _, optional := range []uint16{checksum | routing, key, number} {
		if flags&optional != 0 {
			size += 4
		}
	}
	if version == 1 && flags&ack != 0 {
		size += 4
	}
	if d.short(b, rest, size) {
		return false
	}
	b = b[size:]
	rest -= size
	for route := flags&routing != 0; route && version == 0; {
		if d.short(b, rest, 4) {
			return false
		}
		size := 4 + int(b[3])
		route = size > 4
		if d.short(b, rest, size) {
			return false
		}
		b = b[size:]
		rest -= size
	}
	return d.greKind(kind, flags&number != 0, b, rest, s)
}

// greKind reads the content of GRE.
func (d *Decoder) greKind(kind uint16, numbered bool, b []byte, rest int, s *Segment) bool {
	const (
		wccp      = 0x883e
		erspan    = 0x88be
		erspan3   = 0x22eb
		keepAlive = 0
		aruba     = 0x8200 // frames of 802.11; the next two digits are a priority
		arubaLast = 0x8370
	)
	size := 0
	switch {
	case kind >= aruba && kind <= arubaLast && kind&15 == 0:
		return d.tunnelledWiFi(b, rest, s)
	case kind == etherPPP && rest == 0, kind == keepAlive:
		return d.other(layerEther, uint32(kind))
	case kind == wccp:
		if len(b) > 0 && b[0]>>4 != 4 { // version 2 redirects with a header
			size = 4
		}
		return !d.short(b, rest, size) && d.ipv4(b[size:], rest-size, s)
	case kind == erspan3:
		size = 12
		if len(b) >= size && b[11]&1 != 0 {
			size += 8
		}
	case kind == erspan:
		if numbered { // type II; type I has no header
			size = 8
		}
	default:
		return d.ether(kind, b, rest, s)
	}
	return !d.short(b, rest, size) && d.enter(tunnelERSPAN) && d.ethernet(b[size:], rest-size, s)
}

// udp looks into tunnels that are known by their port. Either port counts, since answers may go to
// any port.
func (d *Decoder) udp(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 8) {
		return false
	}
	for _, port := range []uint16{binary.BigEndian.Uint16(b[2:]), binary.BigEndian.Uint16(b)} {
		if read := tunnelOf(port); read != nil {
			return read(d, b[8:], rest-8, s)
		}
	}
	return d.notTunnel()
}

// tunnelOf returns the reader of the tunnel that has a port of UDP.
func tunnelOf(port uint16) func(*Decoder, []byte, int, *Segment) bool {
	switch port {
	case 1701:
		return (*Decoder).l2tp
	case 2152:
		return (*Decoder).gtp
	case 3544:
		return (*Decoder).teredo
	case 4754:
		return (*Decoder).gre
	case 4789, 8472: // 8472 is the port of Linux
		return (*Decoder).vxlan
	case 4790:
		return (*Decoder).vxlanGPE
	case 5247:
		return (*Decoder).capwap
	case 6081:
		return (*Decoder).geneve
	case 6635:
		return (*Decoder).mpls
	case 37008:
		return (*Decoder).tzsp
	}
	return nil
}

// notTunnel counts a datagram that is no tunnel, or none that is known.
func (d *Decoder) notTunnel() bool { return d.other(layerIP, protocolUDP) }

// vxlan reads RFC 7348.
func (d *Decoder) vxlan(b []byte, rest int, s *Segment) bool {
	const identified = 0x08
	if len(b) >= 1 && b[0]&identified == 0 {
		return d.notTunnel()
	}
	return !d.short(b, rest, 8) && d.enter(tunnelVXLAN) && d.ethernet(b[8:], rest-8, s)
}

// vxlanGPE reads VXLAN that names the kind of its packets.
func (d *Decoder) vxlanGPE(b []byte, rest int, s *Segment) bool {
	const typed = 0x04
	if len(b) >= 1 && b[0]&typed == 0 {
		return d.vxlan(b, rest, s)
	}
	return !d.short(b, rest, 8) && d.enter(tunnelVXLAN) && d.next(b[3], b[8:], rest-8, s)
}

// geneve reads RFC 8926.
func (d *Decoder) geneve(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 8) {
		return false
	}
	if b[0]>>6 != 0 {
		return d.notTunnel()
	}
	size := 8 + int(b[0]&0x3f)*4
	if d.short(b, rest, size) || !d.enter(tunnelGeneve) {
		return false
	}
	return d.ether(binary.BigEndian.Uint16(b[2:]), b[size:], rest-size, s)
}

// gtp reads the user plane of 3GPP TS 29.281.
func (d *Decoder) gtp(b []byte, rest int, s *Segment) bool {
	const (
		data     = 0xff
		optional = 0x07
		extended = 0x04
	)
	if d.short(b, rest, 8) {
		return false
	}
	if b[0]>>4 != 3 || b[1] != data { // version 1; GTP' has another protocol type
		return d.notTunnel()
	}
	size := 8
	if b[0]&optional != 0 {
		size = 12
		if d.short(b, rest, size) {
			return false
		}
		for next := b[11]; next != 0 && b[0]&extended != 0; {
			if d.short(b, rest, size+1) {
				return false
			}
			if b[size] == 0 {
				return d.bad()
			}
			size += int(b[size]) * 4
			if d.short(b, rest, size) {
				return false
			}
			next = b[size-1]
		}
	}
	return d.enter(tunnelGTP) && d.ip(b[size:], rest-size, s)
}

// l2tp reads version 2 (RFC 2661), which holds PPP.
func (d *Decoder) l2tp(b []byte, rest int, s *Segment) bool {
	const (
		control  = 0x8000
		length   = 0x4000
		sequence = 0x0800
		offset   = 0x0200
	)
	if d.short(b, rest, 6) {
		return false
	}
	flags := binary.BigEndian.Uint16(b)
	if flags&control != 0 || flags&15 != 2 {
		return d.notTunnel()
	}
	size := 6
	if flags&length != 0 {
		size += 2
	}
	if flags&sequence != 0 {
		size += 4
	}
	if flags&offset != 0 {
		if d.short(b, rest, size+2) {
			return false
		}
		size += 2 + int(binary.BigEndian.Uint16(b[size:]))
	}
	return !d.short(b, rest, size) && d.enter(tunnelL2TP) && d.ppp(b[size:], rest-size, s)
}

// teredo reads RFC 4380.
func (d *Decoder) teredo(b []byte, rest int, s *Segment) bool {
	for len(b) >= 8 && b[0] == 0 {
		size := 8 // origin indication
		if b[1] == 1 {
			size = 13 + int(b[2]) + int(b[3]) // authentication
		}
		if d.short(b, rest, size) {
			return false
		}
		b = b[size:]
		rest -= size
	}
	if len(b) > 0 && b[0]>>4 != 6 {
		return d.notTunnel()
	}
	return d.enter(tunnelTeredo) && d.ipv6(b, rest, s)
}

// tzsp reads the copies that access points send.
func (d *Decoder) tzsp(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 4) {
		return false
	}
	const (
		padding  = 0
		end      = 1
		ethernet = 1
		wifi     = 18
	)
	kind := binary.BigEndian.Uint16(b[2:])
	if b[0] != 1 || kind != ethernet && kind != wifi {
		return d.notTunnel()
	}
	size := 4
	for last := false; !last; {
		if d.short(b, rest, size+1) {
			return false
		}
		last = b[size] == end
		if last || b[size] == padding {
			size++
			continue
		}
		if d.short(b, rest, size+2) {
			return false
		}
		size += 2 + int(b[size+1])
	}
	if d.short(b, rest, size) || !d.enter(tunnelTZSP) {
		return false
	}
	if kind == wifi {
		return d.wifi(b[size:], rest-size, 0, s)
	}
	return d.ethernet(b[size:], rest-size, s)
}

// capwap reads the data of RFC 5415, if it is neither encrypted nor in pieces.
func (d *Decoder) capwap(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 8) {
		return false
	}
	const (
		native = 0x01 // a frame of 802.11
		part   = 0x80
	)
	size := int(b[1]>>3) * 4
	if b[0] != 0 || size < 8 || b[3]&part != 0 {
		return d.notTunnel()
	}
	if d.short(b, rest, size) || !d.enter(tunnelCAPWAP) {
		return false
	}
	if b[2]&native != 0 {
		return d.tunnelledWiFi(b[size:], rest-size, s)
	}
	return d.ethernet(b[size:], rest-size, s)
}

// tunnelledWiFi reads a frame of 802.11 from an access point. Some send the bytes of its control
// and its sequence number in the other order: then the second byte has the kind of a frame with
// data.
func (d *Decoder) tunnelledWiFi(b []byte, rest int, s *Segment) bool {
	const kind, data, header = 0x0f, 0x08, 24
	if len(b) < header || b[0]&kind == data || b[1]&kind != data {
		return d.wifi(b, rest, 0, s)
	}
	swapped := slices.Clone(b)
	for _, at := range [...]int{0, 22} {
		swapped[at] = b[at+1]
		swapped[at+1] = b[at]
	}
	return d.wifi(swapped, rest, 0, s)
}
