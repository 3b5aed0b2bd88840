package queue

import "encoding/binary"

// The ECN field is the two lowest bits of the second byte of an IPv4 header, and bits 20 and 21 of
// an IPv6 header (RFC 3168 section 5, RFC 8200 section 3).
const (
	notECT = 0
	ce     = 3
)

// markCE sets the "congestion experienced" codepoint in the header of an IP packet. It returns
// false if the transport does not support ECN, or if there is no header, as in virtual time.
func markCE(ip []byte) bool {
	if len(ip) < 20 {
		return false
	}
	switch ip[0] >> 4 {
	case 4:
		if ip[1]&ce == notECT {
			return false
		}
		before := binary.BigEndian.Uint16(ip)
		ip[1] |= ce
		updateChecksum(ip[10:12], before, binary.BigEndian.Uint16(ip))
		return true
	case 6: // no checksum
		if ip[1]>>4&ce == notECT {
			return false
		}
		ip[1] |= ce << 4
		return true
	}
	return false
}

// updateChecksum corrects an internet checksum for a changed word: HC' = ~(~HC + ~m + m') (RFC 1624
// equation 3).
func updateChecksum(sum []byte, before, after uint16) {
	s := uint32(^binary.BigEndian.Uint16(sum)) + uint32(^before) + uint32(after)
	s = s&0xffff + s>>16
	s = s&0xffff + s>>16
	binary.BigEndian.PutUint16(sum, ^uint16(s))
}
