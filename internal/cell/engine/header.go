package engine

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"

	"airtide/internal/cell/queue"
)

// header holds the offsets of the parts of an IP packet.
type header struct {
	version   uint8
	protocol  uint8  // transport protocol, as in IP
	fragment  bool   // a fragment other than the whole: ports cannot be relied on
	transport uint16 // where the transport header begins
	payload   uint16 // where its payload begins; the transport header's own beginning where it is not TCP or UDP
	length    uint16 // length of the IP packet, bytes
}

// Flags of a TCP header.
const (
	tcpFin = 1 << iota
	tcpSyn
	tcpRst
	tcpPsh
	tcpAck
	tcpUrg
	tcpEce
	tcpCwr
)

// parse reads the headers of an IP packet. It returns false for a truncated packet and for anything
// else than IP. b may be longer than the packet.
func parse(b []byte) (h header, ok bool) {
	if len(b) < 20 {
		return h, false
	}
	length := 0
	switch h.version = b[0] >> 4; h.version {
	case 4:
		length = int(binary.BigEndian.Uint16(b[2:]))
		h.transport = uint16(b[0]&15) * 4
		h.fragment = binary.BigEndian.Uint16(b[6:])&0x3fff != 0
		h.protocol = b[9]
		if h.transport < 20 {
			return h, false
		}
	case 6:
		if len(b) < 40 {
			return h, false
		}
		length = 40 + int(binary.BigEndian.Uint16(b[4:]))
		if length > len(b) || !h.skipExtensions(b[:length]) {
			return h, false
		}
	default:
		return h, false
	}
	if length > len(b) || length > 0xffff || int(h.transport) > length {
		return h, false
	}
	h.length = uint16(length)
	h.payload = h.transport
	if h.fragment {
		return h, true
	}
	switch rest := b[h.transport:length]; h.protocol {
	case unix.IPPROTO_TCP:
		if len(rest) < 20 || int(rest[12]>>4)*4 < 20 || int(rest[12]>>4)*4 > len(rest) {
			return h, false
		}
		h.payload += uint16(rest[12]>>4) * 4
	case unix.IPPROTO_UDP:
		if len(rest) < 8 {
			return h, false
		}
		h.payload += 8
	}
	return h, true
}

// skipExtensions finds the transport header of an IPv6 packet (RFC 8200 clause 4).
func (h *header) skipExtensions(b []byte) bool {
	next := b[6]
	at := 40
	for {
		switch next {
		case unix.IPPROTO_HOPOPTS, unix.IPPROTO_ROUTING, unix.IPPROTO_DSTOPTS:
			if at+8 > len(b) {
				return false
			}
			next = b[at]
			at = at + 8 + int(b[at+1])*8
		case unix.IPPROTO_FRAGMENT:
			if at+8 > len(b) {
				return false
			}
			next = b[at]
			at += 8
			h.fragment = true
		default:
			h.protocol = next
			h.transport = uint16(at)
			return at <= len(b)
		}
	}
}

func (h *header) destination(b []byte) netip.Addr {
	if h.version == 4 {
		return netip.AddrFrom4([4]byte(b[16:20]))
	}
	return netip.AddrFrom16([16]byte(b[24:40]))
}

// describe sets the fields of a packet that the queues read.
func (h *header) describe(p *queue.Packet, b []byte) {
	p.Data = b
	p.Length = int(h.length)
	p.Flow = h.flow(b)
	p.Ack = h.protocol == unix.IPPROTO_TCP && !h.fragment && h.payload == h.length &&
		b[h.transport+13]&(tcpAck|tcpSyn|tcpFin|tcpRst) == tcpAck
}

// flow returns a hash of the addresses, the protocol and the ports if they are known.
func (h *header) flow(b []byte) uint32 {
	const k = 0x9e3779b97f4a7c15 // 2^64 / golden ratio
	sum := uint64(h.protocol)
	mix := func(v uint64) {
		sum = (sum ^ v) * k
		sum ^= sum >> 32
	}
	if h.version == 4 {
		mix(binary.BigEndian.Uint64(b[12:]))
	} else {
		for i := 8; i < 40; i += 8 {
			mix(binary.BigEndian.Uint64(b[i:]))
		}
	}
	if h.payload > h.transport {
		mix(uint64(binary.BigEndian.Uint32(b[h.transport:])))
	}
	return uint32(sum ^ sum>>32)
}
