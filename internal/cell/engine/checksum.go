package engine

import "encoding/binary"

// sum16 adds the bytes as the Internet checksum does (RFC 1071), without folding.
func sum16(b []byte, sum uint32) uint32 {
	for ; len(b) >= 2; b = b[2:] {
		sum += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		sum += uint32(b[0]) << 8
	}
	return sum
}

func fold(sum uint32) uint16 {
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return uint16(sum)
}

// setIPChecksum writes the header checksum of an IPv4 packet.
func setIPChecksum(ip []byte, headerBytes int) {
	ip[10] = 0
	ip[11] = 0
	binary.BigEndian.PutUint16(ip[10:], ^fold(sum16(ip[:headerBytes], 0)))
}

// pseudoSum returns the sum of the pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1). The
// checksum field holds this sum if the device completes the checksum.
func (h *header) pseudoSum(b []byte, transportBytes int) uint16 {
	addresses := b[12:20]
	if h.version == 6 {
		addresses = b[8:40]
	}
	return fold(sum16(addresses, uint32(h.protocol)+uint32(transportBytes)>>16+uint32(transportBytes)&0xffff))
}

// setLength writes the length of an IP packet into its header, and the checksum over it.
func (h *header) setLength(ip []byte, length int) {
	if h.version == 4 {
		binary.BigEndian.PutUint16(ip[2:], uint16(length))
		setIPChecksum(ip, int(ip[0]&15)*4)
	} else {
		binary.BigEndian.PutUint16(ip[4:], uint16(length-40))
	}
	h.length = uint16(length)
}
