package cell

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// segment holds the parts of an IP packet. The engine pushes only complete packets, so the lengths
// are valid.
type segment struct {
	protocol  uint8
	transport []byte // TCP header and payload
	payload   int    // bytes after it
}

// read finds the transport of a packet; ok is false for fragments, which do not tell their ports,
// and for IPv6 with extension headers.
func read(ip []byte) (s segment, ok bool) {
	if len(ip) < 28 {
		return s, false
	}
	if ip[0]>>4 == 6 {
		if len(ip) < 48 {
			return s, false
		}
		s.protocol = ip[6]
		s.transport = ip[40:]
	} else {
		header := int(ip[0]&15) * 4
		if header < 20 || len(ip) < header+8 || binary.BigEndian.Uint16(ip[6:])&0x3fff != 0 {
			return s, false
		}
		s.protocol = ip[9]
		s.transport = ip[header:]
	}
	header := 8
	if s.protocol == unix.IPPROTO_TCP {
		if len(s.transport) < 20 {
			return s, false
		}
		header = int(s.transport[12]>>4) * 4
		if header < 20 || header > len(s.transport) {
			return s, false
		}
	}
	s.payload = len(s.transport) - header
	return s, true
}

// Flags of a TCP header's 14th byte, and the one of AccECN in its 13th.
const (
	tcpSyn = 1 << 1
	tcpRst = 1 << 2
	tcpAck = 1 << 4
	tcpUrg = 1 << 5
	tcpEce = 1 << 6
	tcpCwr = 1 << 7
	tcpAE  = 1
)

// Kinds of TCP options.
const (
	optionEnd         = 0
	optionNothing     = 1
	optionWindowScale = 3
	optionTimestamps  = 8
)

// acknowledges returns the acknowledgement number of a pure TCP ACK. It returns false if a later
// ACK of the same flow cannot replace this one: SACK blocks and ECN echoes would be lost.
func acknowledges(ip []byte) (number uint32, ok bool) {
	s, ok := read(ip)
	if !ok || s.protocol != unix.IPPROTO_TCP {
		return 0, false
	}
	t := s.transport
	if t[13]&(tcpUrg|tcpEce|tcpCwr) != 0 || t[12]&tcpAE != 0 {
		return 0, false
	}
	for options := t[20 : len(t)-s.payload]; len(options) > 0; {
		switch options[0] {
		case optionEnd:
			options = nil
		case optionNothing:
			options = options[1:]
		case optionTimestamps:
			if len(options) < 10 {
				return 0, false
			}
			options = options[10:]
		default:
			return 0, false
		}
	}
	return binary.BigEndian.Uint32(t[8:]), true
}
