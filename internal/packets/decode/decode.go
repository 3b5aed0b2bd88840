// Package decode finds the TCP segment in a captured packet. It reads the usual kinds of links from
// Ethernet to 802.11 and PPP, and looks into tunnels: PPPoE, MPLS, GRE, IP in IP, VXLAN, Geneve,
// GTP-U and others. It joins IP fragments, and names the kinds of unread packets.
package decode

import (
	"encoding/binary"
	"net/netip"

	"airtide/internal/packets/read"
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
	Window uint16 // value in the header, not scaled
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
	// Timestamps is true with the option of RFC 7323, whose values are Timestamp and Echo.
	Timestamps      bool
	Timestamp, Echo uint32
	// Tunnels is the number of tunnels around the segment.
	Tunnels uint8
	// MissingOptions counts bytes of options that the capture does not hold.
	MissingOptions uint8
	// MPTCPSignal is true for an MPTCP option other than DSS, which carries no data.
	MPTCPSignal bool
}

// Counts counts the packets of a capture by kind.
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

// ProtocolTCP is the number of TCP in IP headers.
const ProtocolTCP = 6

// Decoder decodes packets. Its memory is bounded.
type Decoder struct {
	Counts    Counts
	fragments fragments
	unread    map[kind]uint64
	tunnels   map[path]uint64

	path  path // tunnels around the present packet
	depth int  // headers that may hold another packet
}

// maxDepth bounds the packets inside each other. Real ones have three or four.
const maxDepth = 16

// Decode reads a packet into s. It returns false if the packet completes no TCP segment; Counts
// tells why.
func (d *Decoder) Decode(p *read.Packet, s *Segment) bool {
	d.Counts.Packets++
	s.Number = p.Number
	s.TimeNs = p.TimeNs
	s.PacketBytes = uint32(p.Length)
	d.path = path{}
	d.depth = 0
	if !d.link(p.Link, p.Data, p.Length, s) {
		return false
	}
	s.Tunnels = uint8(d.path.n)
	d.Counts.TCP++
	d.countTunnels()
	return true
}

// short reports whether a header of n bytes is not whole, and counts the packet if so. b holds the
// captured part of it, and rest is the number of bytes on the wire.
func (d *Decoder) short(b []byte, rest, n int) bool {
	switch {
	case len(b) >= n:
		return false
	case rest < n:
		d.Counts.Bad++
	default:
		d.Counts.Cut++
	}
	return true
}

func (d *Decoder) bad() bool {
	d.Counts.Bad++
	return false
}

// tcp reads a segment of a length on the wire.
func (d *Decoder) tcp(b []byte, length int, a *addresses, s *Segment) bool {
	if d.short(b, length, 20) {
		return false
	}
	header := int(b[12]>>4) * 4
	if header < 20 || header > length {
		return d.bad()
	}
	from := binary.BigEndian.Uint16(b)
	to := binary.BigEndian.Uint16(b[2:])
	if after(&a.source, from, &a.target, to) {
		s.From = 1
		s.Key = Key{[2][16]byte{a.target, a.source}, [2]uint16{to, from}, a.v6}
	} else {
		s.From = 0
		s.Key = Key{[2][16]byte{a.source, a.target}, [2]uint16{from, to}, a.v6}
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
	x := binary.BigEndian.Uint64(a[:])
	y := binary.BigEndian.Uint64(b[:])
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
			s.Timestamp = binary.BigEndian.Uint32(o[2:])
			s.Echo = binary.BigEndian.Uint32(o[6:])
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
