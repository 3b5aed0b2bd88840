package decode

import "encoding/binary"

// Protocols in IP headers.
const (
	protocolIPv4   = 4
	protocolUDP    = 17
	protocolIPv6   = 41
	protocolRoute  = 43
	protocolPart   = 44
	protocolGRE    = 47
	protocolAH     = 51
	protocolTarget = 60
	protocolEther  = 97
	protocolMobile = 135
	protocolMPLS   = 137
	protocolHIP    = 139
	protocolShim   = 140
)

// addresses are those of an IP packet. IPv4 takes the first four bytes.
type addresses struct {
	source, target [16]byte
	v6             bool
}

func (d *Decoder) ipv4(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 20) {
		return false
	}
	header := int(b[0]&15) * 4
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 {
		total = rest // a segment of an offload that is longer than the field can say
	}
	total = min(total, rest) // a damaged field may say more than the packet had on the wire
	if b[0]>>4 != 4 || header < 20 || total < header {
		return d.bad()
	}
	a := addresses{}
	copy(a.source[:4], b[12:16])
	copy(a.target[:4], b[16:20])
	copy(a.target[:4], sourceRouted(b[20:max(20, min(header, len(b)))]))
	protocol := b[9]
	body := b[min(header, len(b)):min(total, len(b))]
	length := total - header
	if place := binary.BigEndian.Uint16(b[6:]); place&0x3fff != 0 {
		if !carries(protocol) {
			return d.other(layerIP, uint32(protocol))
		}
		key := fragmentKey{a, uint32(binary.BigEndian.Uint16(b[4:])), protocol}
		whole := d.fragment(key, int(place&0x1fff)*8, place&0x2000 != 0, body, length, s)
		if whole == nil {
			return false
		}
		body = whole.known()
		length = whole.total
	}
	return d.transport(protocol, body, length, &a, s)
}

// Options of IPv4 that list the routers of a packet (RFC 791).
const (
	optionEnd         = 0
	optionNothing     = 1
	optionLooseRoute  = 131
	optionStrictRoute = 137
)

// sourceRouted is the receiver of a packet whose options list routers that are still ahead, nil of
// other packets. The address in the header is then that of the next router, but the answers come
// from the receiver.
func sourceRouted(options []byte) []byte {
	for len(options) > 1 && options[0] != optionEnd {
		if options[0] == optionNothing {
			options = options[1:]
			continue
		}
		size := int(options[1])
		if size < 2 || size > len(options) {
			return nil
		}
		o := options[:size]
		// The third byte is the place of the next address, counted from 1.
		if (o[0] == optionLooseRoute || o[0] == optionStrictRoute) && size >= 7 && int(o[2]) <= size-3 {
			return o[3+(size-3)/4*4-4:][:4]
		}
		options = options[size:]
	}
	return nil
}

// Kinds of the routing header of IPv6.
const (
	routeList    = 0 // RFC 2460: the receiver is the last address
	routeMobile  = 2 // RFC 6275: one address
	routeSegment = 4 // RFC 8754: the receiver is the first address
)

// routed is the receiver of a packet with a routing header, nil if the header's address is the
// receiver's.
func routed(header []byte) []byte {
	at := 8
	switch {
	case len(header) < 24 || header[3] == 0: // no router is ahead
		return nil
	case header[2] == routeList || header[2] == routeMobile:
		at = len(header) - 16
	case header[2] != routeSegment:
		return nil
	}
	return header[at:][:16]
}

func (d *Decoder) ipv6(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 40) {
		return false
	}
	next := b[6]
	length := int(binary.BigEndian.Uint16(b[4:]))
	if length == 0 || length > rest-40 {
		length = rest - 40 // a jumbogram, or a damaged field
	}
	if b[0]>>4 != 6 || length < 0 {
		return d.bad()
	}
	a := addresses{[16]byte(b[8:24]), [16]byte(b[24:40]), true}
	b = b[40:min(len(b), 40+length)]
	for range 8 { // extension headers
		switch next {
		case 0, protocolRoute, protocolTarget, protocolPart, protocolMobile, protocolHIP, protocolShim:
		default:
			return d.transport(next, b, length, &a, s)
		}
		if d.short(b, length, 8) {
			return false
		}
		size := (int(b[1]) + 1) * 8
		if next == protocolPart {
			size = 8
		}
		if size > length {
			return d.bad()
		}
		head := b
		part := next == protocolPart
		if next == protocolRoute && size <= len(b) {
			copy(a.target[:], routed(head[:size]))
		}
		next = head[0]
		b = b[min(size, len(b)):]
		length -= size
		if place := binary.BigEndian.Uint16(head[2:]); part && place&0xfff9 != 0 {
			key := fragmentKey{a, binary.BigEndian.Uint32(head[4:]), 0}
			whole := d.fragment(key, int(place&0xfff8), place&1 != 0, b, length, s)
			if whole == nil {
				return false
			}
			b = whole.known()
			length = whole.total
		}
	}
	return d.other(layerIP, uint32(next))
}

// carries reports whether an IP protocol is TCP or may hold it.
func carries(protocol uint8) bool {
	switch protocol {
	case ProtocolTCP, protocolUDP, protocolIPv4, protocolIPv6, protocolGRE, protocolAH, protocolEther, protocolMPLS:
		return true
	}
	return false
}

// transport reads the packet behind an IP header.
func (d *Decoder) transport(protocol uint8, b []byte, rest int, a *addresses, s *Segment) bool {
	if protocol == protocolAH {
		if d.short(b, rest, 12) {
			return false
		}
		size := (int(b[1]) + 2) * 4
		if d.short(b, rest, size) {
			return false
		}
		protocol = b[0]
		b = b[size:]
		rest -= size
	}
	switch protocol {
	case ProtocolTCP:
		return d.tcp(b, rest, a, s)
	case protocolUDP:
		return d.udp(b, rest, s)
	case protocolIPv4:
		return d.enter(ipInIP(a.v6, false)) && d.ipv4(b, rest, s)
	case protocolIPv6:
		return d.enter(ipInIP(a.v6, true)) && d.ipv6(b, rest, s)
	case protocolGRE:
		return d.gre(b, rest, s)
	case protocolEther:
		return !d.short(b, rest, 2) && d.enter(tunnelEtherIP) && d.ethernet(b[2:], rest-2, s)
	case protocolMPLS:
		return d.mpls(b, rest, s)
	}
	return d.other(layerIP, uint32(protocol))
}

func ipInIP(outer6, inner6 bool) tunnel {
	switch {
	case outer6 && inner6:
		return tunnel6in6
	case outer6:
		return tunnel4in6
	case inner6:
		return tunnel6in4
	}
	return tunnel4in4
}
