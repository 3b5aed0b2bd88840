// Package capture makes packets and captures for tests.
package capture

import (
	"bytes"
	"encoding/binary"
	"io"
	"net/netip"

	"airtide/internal/packets/read"
)

// Source gives the packets of a list, as read.Reader gives those of a capture.
type Source struct {
	Packets []read.Packet
	next    int
}

// Add appends a packet of raw IP.
func (s *Source) Add(timeNs int64, ip []byte) {
	s.Packets = append(s.Packets, read.Packet{TimeNs: timeNs, Data: ip, Length: len(ip), Link: linkRaw})
}

// Next copies the next packet. It returns io.EOF after the last one.
func (s *Source) Next(p *read.Packet) error {
	if s.next == len(s.Packets) {
		return io.EOF
	}
	*p = s.Packets[s.next]
	s.next++
	p.Number = uint64(s.next)
	return nil
}

const linkRaw = 101 // LINKTYPE_RAW

// Packet is a packet of a capture.
type Packet struct {
	TimeNs int64
	Data   []byte
	Length int // on the wire; zero stands for len(Data)
}

// TCP describes a segment.
type TCP struct {
	From, To netip.AddrPort
	Seq, Ack uint32
	Flags    uint8
	Window   uint16
	Options  []byte // padded to four bytes
	Payload  int    // bytes of zeros
}

// Segment is the TCP header with its payload.
func (t TCP) Segment() []byte {
	options := append([]byte(nil), t.Options...)
	for len(options)%4 != 0 {
		options = append(options, 0)
	}
	b := make([]byte, 20, 20+len(options)+t.Payload)
	binary.BigEndian.PutUint16(b, t.From.Port())
	binary.BigEndian.PutUint16(b[2:], t.To.Port())
	binary.BigEndian.PutUint32(b[4:], t.Seq)
	binary.BigEndian.PutUint32(b[8:], t.Ack)
	b[12] = byte(20+len(options)) << 2
	b[13] = t.Flags
	binary.BigEndian.PutUint16(b[14:], t.Window)
	return append(append(b, options...), make([]byte, t.Payload)...)
}

// IP is the segment in an IP packet of the family of From.
func (t TCP) IP() []byte { return t.fragment(t.Segment(), 0) }

// Fragments is the segment in IPv4 fragments; each takes a multiple of 8 bytes.
func (t TCP) Fragments(size int) (all [][]byte) {
	s := t.Segment()
	for at := 0; at < len(s); at += size {
		field := uint16(at / 8)
		end := min(at+size, len(s))
		if end < len(s) {
			field |= 0x2000
		}
		all = append(all, t.fragment(s[at:end], field))
	}
	return all
}

func (t TCP) fragment(body []byte, field uint16) []byte {
	from := t.From.Addr()
	to := t.To.Addr()
	if from.Is6() {
		b := make([]byte, 40, 40+len(body))
		b[0] = 0x60
		b[6] = 6
		b[7] = 64
		binary.BigEndian.PutUint16(b[4:], uint16(len(body)))
		copy(b[8:], from.AsSlice())
		copy(b[24:], to.AsSlice())
		return append(b, body...)
	}
	b := make([]byte, 20, 20+len(body))
	b[0] = 0x45
	b[8] = 64
	b[9] = 6
	binary.BigEndian.PutUint16(b[2:], uint16(20+len(body)))
	binary.BigEndian.PutUint16(b[4:], 77)
	binary.BigEndian.PutUint16(b[6:], field)
	copy(b[12:], from.AsSlice())
	copy(b[16:], to.AsSlice())
	return append(b, body...)
}

// Ethernet puts an IP packet into a frame, behind VLAN tags.
func Ethernet(ip []byte, vlans ...uint16) []byte {
	b := make([]byte, 12, 14+len(ip)+4*len(vlans))
	for _, id := range vlans {
		b = binary.BigEndian.AppendUint16(append(b, 0x81, 0), id)
	}
	return append(append(b, kind(ip)...), ip...)
}

// Cooked puts an IP packet behind the header of a Linux cooked capture, version 1 or 2.
func Cooked(ip []byte, version int) []byte {
	b := make([]byte, 20)
	if version == 2 {
		copy(b, kind(ip))
	} else {
		b = b[:16]
		copy(b[14:], kind(ip))
	}
	return append(b, ip...)
}

func kind(ip []byte) []byte {
	if ip[0]>>4 == 6 {
		return []byte{0x86, 0xdd}
	}
	return []byte{0x08, 0x00}
}

// PCAP is a pcap file.
func PCAP(order binary.AppendByteOrder, nanoseconds bool, link uint32, packets ...Packet) []byte {
	magic := uint32(0xa1b2c3d4)
	unit := int64(1000)
	if nanoseconds {
		magic = 0xa1b23c4d
		unit = 1
	}
	b := order.AppendUint32(nil, magic)
	b = order.AppendUint16(order.AppendUint16(b, 2), 4)
	b = append(b, make([]byte, 8)...)
	b = order.AppendUint32(order.AppendUint32(b, 262144), link)
	for _, p := range packets {
		b = order.AppendUint32(b, uint32(p.TimeNs/1e9))
		b = order.AppendUint32(b, uint32(p.TimeNs%1e9/unit))
		b = order.AppendUint32(b, uint32(len(p.Data)))
		b = order.AppendUint32(b, uint32(p.length()))
		b = append(b, p.Data...)
	}
	return b
}

func (p *Packet) length() int {
	if p.Length == 0 {
		return len(p.Data)
	}
	return p.Length
}

// Block is a block of a pcapng.
func Block(order binary.AppendByteOrder, kind uint32, body []byte) []byte {
	for len(body)%4 != 0 {
		body = append(body, 0)
	}
	size := uint32(len(body) + 12)
	b := order.AppendUint32(order.AppendUint32(nil, kind), size)
	return order.AppendUint32(append(b, body...), size)
}

// PCAPNG is a pcapng with one interface, whose clock has the resolution of its option
// if_tsresol, and ticks for each packet in place of TimeNs.
func PCAPNG(order binary.AppendByteOrder, link uint16, resolution byte, packets ...Packet) []byte {
	head := order.AppendUint16(order.AppendUint16(order.AppendUint32(nil, 0x1a2b3c4d), 1), 0)
	b := Block(order, 0x0a0d0d0a, append(head, bytes.Repeat([]byte{0xff}, 8)...))
	face := order.AppendUint32(order.AppendUint16(order.AppendUint16(nil, link), 0), 262144)
	face = order.AppendUint16(order.AppendUint16(face, 9), 1)
	b = append(b, Block(order, 1, append(face, resolution, 0, 0, 0, 0, 0, 0, 0))...)
	for _, p := range packets {
		body := order.AppendUint32(nil, 0)
		body = order.AppendUint32(body, uint32(p.TimeNs>>32))
		body = order.AppendUint32(body, uint32(p.TimeNs))
		body = order.AppendUint32(body, uint32(len(p.Data)))
		body = order.AppendUint32(body, uint32(p.length()))
		b = append(b, Block(order, 6, append(body, p.Data...))...)
	}
	return b
}
