package path

// Overhead of an Ethernet frame around an IP packet, in bytes (IEEE 802.3-2022 sections 3.1.1, 3.2,
// 4.2.7; without VLAN tag).
const (
	preambleBytes = 8  // with the start frame delimiter
	headerBytes   = 14 // addresses and type
	fcsBytes      = 4
	gapBytes      = 12 // between packets
	minFrame      = 64 // header to FCS; shorter ones are padded
)

// EthernetBytes is the time that an IP packet occupies the wire, in bytes: 38 more than its length,
// and at least 84.
func EthernetBytes(ipLength int) int {
	return preambleBytes + max(headerBytes+ipLength+fcsBytes, minFrame) + gapBytes
}
