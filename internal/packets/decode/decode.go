// Package decode finds the TCP segment in a captured packet. It knows Ethernet, VLAN, Linux cooked
// captures of both versions, raw IP, and the loopback headers of BSD. It joins IP fragments.
package decode

import (
	"encoding/binary"
	"net/netip"

	"airtide/internal/packets/read"
)

// Kinds of captures, by their number at tcpdump.org/linktypes.html.
const (
	linkNull     read.LinkType = 0
	linkEthernet read.LinkType = 1
	linkRawBSD   read.LinkType = 12
	linkRawOpen  read.LinkType = 14
	linkRaw      read.LinkType = 101
	linkLoop     read.LinkType = 108
	linkCooked   read.LinkType = 113
	linkIPv4     read.LinkType = 228
	linkIPv6     read.LinkType = 229
	linkCooked2  read.LinkType = 276
)

// Flags of a TCP header.
const (
	FIN = 1 << iota
	SYN
	RST
	PSH
	ACK
	URG
	ECE
	CWR
)

// Key names both ends of a connection. The smaller end comes first.
type Key struct {
	Address [2][16]byte
	Port    [2]uint16
	V6      bool
}

// Endpoint returns an end, 0 or 1.
func (k *Key) Endpoint(i int) netip.AddrPort {
	address := netip.AddrFrom16(k.Address[i])
	if !k.V6 {
		address = netip.AddrFrom4([4]byte(k.Address[i][:4]))
	}
	return netip.AddrPortFrom(address, k.Port[i])
}

// Block is a range that a SACK option names, as raw sequence numbers.
type Block struct{ Start, End uint32 }

// Segment is a TCP segment.
type Segment struct {
	Number uint64
	TimeNs int64
	Key    Key
	From   uint8 // end of Key that sent it
	Flags  uint8
	Window uint16 // as in the header, not scaled
	Seq    uint32
	Ack    uint32
	// Payload is the number of bytes of data on the wire; PacketBytes that of the whole packet.
	Payload     uint32
	PacketBytes uint32
	Blocks      [4]Block
	NumBlocks   uint8
	// Options of a SYN. Zero MSS and negative Scale stand for absent options.
	Scale         int8
	MSS           uint16
	SACKPermitted bool
	FastOpen      bool
	Timestamps    bool
	// MissingOptions counts bytes of options that the capture does not hold.
	MissingOptions uint8
	// MPTCPSignal is true for an MPTCP option other than DSS, which carries no data.
	MPTCPSignal bool
}

// Counts tells what the packets of a capture were.
type Counts struct {
	Packets   uint64 `json:"packets"`
	TCP       uint64 `json:"tcp_packets"`
	Other     uint64 `json:"other_packets"`
	Cut       uint64 `json:"cut_packets"` // too few bytes captured for a TCP header
	Bad       uint64 `json:"malformed_packets"`
	Fragments uint64 `json:"ip_fragments"`
	// UnknownLink counts packets of interfaces whose link type is unknown.
	UnknownLink uint64 `json:"unknown_link_packets"`
}

// Decoder decodes packets. Its memory is bounded.
type Decoder struct {
	Counts    Counts
	fragments fragments
}

// Decode reads a packet into s. It returns false if the packet completes no TCP segment; Counts
// tells why.
func (d *Decoder) Decode(p *read.Packet, s *Segment) bool {
	d.Counts.Packets++
	ip, version, ok := d.network(p)
	if !ok {
		return false
	}
	s.Number = p.Number
	s.TimeNs = p.TimeNs
	s.PacketBytes = uint32(p.Length)
	rest := p.Length - (len(p.Data) - len(ip)) // bytes on the wire from the IP header on
	if version == 4 {
		return d.ipv4(ip, rest, s)
	}
	return d.ipv6(ip, rest, s)
}

// network skips the header of the link and finds the version of IP.
func (d *Decoder) network(p *read.Packet) (ip []byte, version int, ok bool) {
	b := p.Data
	var kind uint16
	switch p.Link {
	case linkEthernet:
		if len(b) < 14 {
			d.Counts.Cut++
			return nil, 0, false
		}
		kind = binary.BigEndian.Uint16(b[12:])
		b = b[14:]
	case linkCooked:
		if len(b) < 16 {
			d.Counts.Cut++
			return nil, 0, false
		}
		kind = binary.BigEndian.Uint16(b[14:])
		b = b[16:]
	case linkCooked2:
		if len(b) < 20 {
			d.Counts.Cut++
			return nil, 0, false
		}
		kind = binary.BigEndian.Uint16(b)
		b = b[20:]
	case linkNull, linkLoop:
		if len(b) < 4 {
			d.Counts.Cut++
			return nil, 0, false
		}
		b = b[4:] // address families differ between systems; the version of IP does not
		kind = 0
	case linkRaw, linkRawBSD, linkRawOpen, linkIPv4, linkIPv6:
	default:
		d.Counts.UnknownLink++
		return nil, 0, false
	}
	if kind == 0 && p.Link != linkEthernet && p.Link != linkCooked && p.Link != linkCooked2 {
		if len(b) == 0 {
			d.Counts.Cut++
			return nil, 0, false
		}
		switch b[0] >> 4 {
		case 4:
			kind = 0x0800
		case 6:
			kind = 0x86dd
		}
	}
	for range 4 { // stacked VLAN tags
		if kind != 0x8100 && kind != 0x88a8 && kind != 0x9100 {
			break
		}
		if len(b) < 4 {
			d.Counts.Cut++
			return nil, 0, false
		}
		kind = binary.BigEndian.Uint16(b[2:])
		b = b[4:]
	}
	switch kind {
	case 0x0800:
		return b, 4, true
	case 0x86dd:
		return b, 6, true
	}
	d.Counts.Other++
	return nil, 0, false
}

// ProtocolTCP is the number of TCP in IP headers.
const ProtocolTCP = 6

func (d *Decoder) ipv4(b []byte, rest int, s *Segment) bool {
	if len(b) < 20 {
		d.Counts.Cut++
		return false
	}
	if b[9] != ProtocolTCP {
		d.Counts.Other++
		return false
	}
	header, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 {
		total = rest // a segment of an offload that is longer than the field can say
	}
	if b[0]>>4 != 4 || header < 20 || total < header {
		d.Counts.Bad++
		return false
	}
	var source, target [16]byte
	copy(source[:4], b[12:16])
	copy(target[:4], b[16:20])
	fragment := binary.BigEndian.Uint16(b[6:])
	body := b[min(header, len(b)):min(total, len(b))]
	if fragment&0x3fff != 0 {
		return d.fragment(fragmentKey{source, target, uint32(binary.BigEndian.Uint16(b[4:]))},
			int(fragment&0x1fff)*8, fragment&0x2000 != 0, body, total-header, s, false)
	}
	return d.tcp(body, total-header, source, target, false, s)
}

func (d *Decoder) ipv6(b []byte, rest int, s *Segment) bool {
	if len(b) < 40 {
		d.Counts.Cut++
		return false
	}
	next, length := b[6], int(binary.BigEndian.Uint16(b[4:]))
	if length == 0 {
		length = rest - 40 // a jumbogram
	}
	if b[0]>>4 != 6 || length < 0 {
		d.Counts.Bad++
		return false
	}
	source, target := [16]byte(b[8:24]), [16]byte(b[24:40])
	b = b[40:min(len(b), 40+length)]
	for range 8 { // extension headers
		var size int
		switch next {
		case ProtocolTCP:
			return d.tcp(b, length, source, target, true, s)
		case 0, 43, 60, 51, 44:
			if len(b) < 8 {
				d.Counts.Cut++
				return false
			}
			switch size = (int(b[1]) + 1) * 8; next {
			case 51:
				size = (int(b[1]) + 2) * 4
			case 44:
				size = 8
			}
			if size > length {
				d.Counts.Bad++
				return false
			}
		default:
			d.Counts.Other++
			return false
		}
		head := b
		b = b[min(size, len(b)):]
		length -= size
		if next == 44 {
			place := binary.BigEndian.Uint16(head[2:])
			next = head[0]
			if next != ProtocolTCP {
				d.Counts.Other++
				return false
			}
			if place&0xfff9 != 0 {
				return d.fragment(fragmentKey{source, target, binary.BigEndian.Uint32(head[4:])},
					int(place&0xfff8), place&1 != 0, b, length, s, true)
			}
			continue
		}
		next = head[0]
	}
	d.Counts.Other++
	return false
}

// tcp reads a segment of a length on the wire.
func (d *Decoder) tcp(b []byte, length int, source, target [16]byte, v6 bool, s *Segment) bool {
	if len(b) < 20 {
		if length < 20 {
			d.Counts.Bad++
		} else {
			d.Counts.Cut++
		}
		return false
	}
	header := int(b[12]>>4) * 4
	if header < 20 || header > length {
		d.Counts.Bad++
		return false
	}
	d.Counts.TCP++
	from, to := binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:])
	if after(&source, from, &target, to) {
		s.From = 1
		s.Key = Key{[2][16]byte{target, source}, [2]uint16{to, from}, v6}
	} else {
		s.From = 0
		s.Key = Key{[2][16]byte{source, target}, [2]uint16{from, to}, v6}
	}
	s.Seq = binary.BigEndian.Uint32(b[4:])
	s.Ack = binary.BigEndian.Uint32(b[8:])
	s.Window = binary.BigEndian.Uint16(b[14:])
	s.Flags = b[13]
	s.Payload = uint32(length - header)
	s.NumBlocks = 0
	s.MSS = 0
	s.Scale = -1
	s.SACKPermitted = false
	s.FastOpen = false
	s.Timestamps = false
	s.MPTCPSignal = false
	s.MissingOptions = uint8(max(0, header-len(b)))
	if header > 20 {
		s.options(b[20:min(header, len(b))])
	}
	return true
}

// after orders ends by address, then by port.
func after(a *[16]byte, p uint16, b *[16]byte, q uint16) bool {
	x, y := binary.BigEndian.Uint64(a[:]), binary.BigEndian.Uint64(b[:])
	if x != y {
		return x > y
	}
	x = binary.BigEndian.Uint64(a[8:])
	y = binary.BigEndian.Uint64(b[8:])
	if x != y {
		return x > y
	}
	return p > q
}

// mptcpDSS is the subtype of MPTCP's option for data (RFC 8684).
const mptcpDSS = 2

func (s *Segment) options(o []byte) {
	for len(o) > 0 {
		kind := o[0]
		if kind == 1 {
			o = o[1:]
			continue
		}
		if kind == 0 {
			s.MissingOptions = 0 // only padding follows
			return
		}
		if len(o) < 2 || o[1] < 2 || int(o[1]) > len(o) {
			return
		}
		n := int(o[1])
		switch {
		case kind == 8 && n == 10:
			s.Timestamps = true
		case kind == 5:
			for i := 2; i+8 <= n && s.NumBlocks < 4; i += 8 {
				s.Blocks[s.NumBlocks] = Block{binary.BigEndian.Uint32(o[i:]), binary.BigEndian.Uint32(o[i+4:])}
				s.NumBlocks++
			}
		case kind == 2 && n == 4:
			s.MSS = binary.BigEndian.Uint16(o[2:])
		case kind == 3 && n == 3:
			s.Scale = int8(min(o[2], 14))
		case kind == 4 && n == 2:
			s.SACKPermitted = true
		case kind == 34, kind == 254 && n >= 4 && binary.BigEndian.Uint16(o[2:]) == 0xf989:
			s.FastOpen = true
		case kind == 30 && n > 2 && o[2]>>4 != mptcpDSS:
			s.MPTCPSignal = true
		}
		o = o[n:]
	}
}
