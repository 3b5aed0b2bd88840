package decode

import "encoding/binary"

// EtherTypes of packets that may hold IP.
const (
	etherIPv4      = 0x0800
	etherBridged   = 0x6558 // Ethernet in GRE or Geneve
	etherVLAN      = 0x8100
	etherIPv6      = 0x86dd
	etherPPP       = 0x880b
	etherMPLS      = 0x8847
	etherMPLSMany  = 0x8848
	etherPPPoE     = 0x8864
	etherProvider  = 0x88a8 // VLAN of a provider
	etherMACsec    = 0x88e5
	etherFabric    = 0x8903 // FabricPath
	etherPortTag   = 0x893f // E-TAG of IEEE 802.1BR
	etherBackbone  = 0x88e7 // IEEE 802.1ah
	etherVNTag     = 0x8926
	etherService   = 0x894f // NSH
	etherVLANOld   = 0x9100
	etherVLANOlder = 0x9200

	// maxLength is the largest value of the field that is a length, as in IEEE 802.3.
	maxLength = 1500
)

// ether reads a packet of an EtherType.
func (d *Decoder) ether(kind uint16, b []byte, rest int, s *Segment) bool {
	for kind == etherVLAN || kind == etherProvider || kind == etherVLANOld || kind == etherVLANOlder {
		if d.deep() || d.short(b, rest, 4) {
			return false
		}
		kind = binary.BigEndian.Uint16(b[2:])
		b = b[4:]
		rest -= 4
	}
	switch kind {
	case etherIPv4:
		return d.ipv4(b, rest, s)
	case etherIPv6:
		return d.ipv6(b, rest, s)
	case etherPPPoE:
		return d.pppoe(b, rest, s)
	case etherMPLS, etherMPLSMany:
		return d.mpls(b, rest, s)
	case etherPPP:
		return !d.deep() && d.ppp(b, rest, s)
	case etherBridged:
		return !d.deep() && d.ethernet(b, rest, s)
	case etherBackbone:
		return !d.short(b, rest, 4) && d.enter(tunnelBackbone) && d.ethernet(b[4:], rest-4, s)
	case etherVNTag:
		return !d.deep() && !d.short(b, rest, 6) && d.ether(binary.BigEndian.Uint16(b[4:]), b[6:], rest-6, s)
	case etherFabric:
		return !d.short(b, rest, 2) && d.enter(tunnelFabric) && d.ethernet(b[2:], rest-2, s)
	case etherPortTag:
		return !d.deep() && !d.short(b, rest, 8) && d.ether(binary.BigEndian.Uint16(b[6:]), b[8:], rest-8, s)
	case etherService:
		return d.nsh(b, rest, s)
	case etherMACsec:
		return d.macsec(b, rest, s)
	}
	// A length, or the number of IEEE 802.2 in a Linux cooked capture. Smaller numbers are other
	// kinds there, and too short a length for a frame that holds IP.
	const cookedLLC, leastLength = 4, 28
	if kind == cookedLLC || kind >= leastLength && kind <= maxLength {
		return !d.deep() && d.llc(b, rest, s)
	}
	return d.other(layerEther, uint32(kind))
}

// pppoe reads a session of RFC 2516.
func (d *Decoder) pppoe(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 6) || !d.enter(tunnelPPPoE) {
		return false
	}
	if b[1] != 0 {
		return d.other(layerEther, etherPPPoE-1) // discovery
	}
	return d.ppp(b[6:], min(rest-6, int(binary.BigEndian.Uint16(b[4:]))), s)
}

// PPP's protocols of packets that may hold IP.
const (
	pppIPv4     = 0x0021
	pppMultlink = 0x003d
	pppIPv6     = 0x0057
	pppMPLS     = 0x0281
	pppMPLSMany = 0x0283
)

// ppp reads RFC 1661, with or without the address and control of HDLC, and with a protocol of one
// byte or two.
func (d *Decoder) ppp(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 2) {
		return false
	}
	size := 0
	if b[0] == 0xff && b[1] == 3 {
		size = 2
	} else if b[0] == 3 { // behind a direction in place of the address
		size = 1
	}
	if d.short(b, rest, size+2) {
		return false
	}
	protocol := uint16(b[size])
	size++
	if protocol&1 == 0 {
		protocol = protocol<<8 | uint16(b[size])
		size++
	}
	b = b[size:]
	rest -= size
	switch protocol {
	case pppIPv4:
		return d.ipv4(b, rest, s)
	case pppIPv6:
		return d.ipv6(b, rest, s)
	case pppMPLS, pppMPLSMany:
		return d.mpls(b, rest, s)
	case pppMultlink:
		const whole = 0xc0 // begins and ends here
		if d.deep() || d.short(b, rest, 4) {
			return false
		}
		if b[0]&whole == whole {
			return d.ppp(b[4:], rest-4, s)
		}
	}
	return d.other(layerPPP, uint32(protocol))
}

// mpls reads a stack of labels and the packet below: IP, or Ethernet, with a control word or not.
func (d *Decoder) mpls(b []byte, rest int, s *Segment) bool {
	if !d.enter(tunnelMPLS) {
		return false
	}
	for bottom := false; !bottom; {
		if d.short(b, rest, 4) {
			return false
		}
		bottom = b[2]&1 != 0
		b = b[4:]
		rest -= 4
	}
	if d.short(b, rest, 1) {
		return false
	}
	switch version := b[0] >> 4; {
	case version == 4 && isIPv4(b, rest):
		return d.ipv4(b, rest, s)
	case version == 6 && !isEthernet(b):
		return d.ipv6(b, rest, s)
	case version == 0 && !isEthernet(b) && len(b) > 4:
		return d.ethernet(b[4:], rest-4, s)
	case isEthernet(b):
		return d.ethernet(b, rest, s)
	}
	return d.other(layerMPLS, uint32(b[0]>>4))
}

// isIPv4 reports whether bytes look like a header of IPv4, and not like an address of Ethernet.
func isIPv4(b []byte, rest int) bool {
	return len(b) < 4 || b[0]&15 >= 5 && int(binary.BigEndian.Uint16(b[2:])) <= rest
}

// isEthernet reports whether bytes have a known EtherType where Ethernet has it.
func isEthernet(b []byte) bool {
	if len(b) < 14 {
		return false
	}
	switch binary.BigEndian.Uint16(b[12:]) {
	case etherIPv4, etherIPv6, etherVLAN, etherProvider, etherMPLS, etherPPPoE:
		return true
	}
	return false
}

// nsh reads RFC 8300.
func (d *Decoder) nsh(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 8) || !d.enter(tunnelNSH) {
		return false
	}
	size := int(b[1]&0x3f) * 4
	if size < 8 {
		return d.bad()
	}
	if d.short(b, rest, size) {
		return false
	}
	return d.next(b[3], b[size:], rest-size, s)
}

// next reads a packet whose kind has a number of NSH or VXLAN-GPE.
func (d *Decoder) next(number byte, b []byte, rest int, s *Segment) bool {
	switch number {
	case 1:
		return d.ipv4(b, rest, s)
	case 2:
		return d.ipv6(b, rest, s)
	case 3:
		return d.ethernet(b, rest, s)
	case 4:
		return d.nsh(b, rest, s)
	case 5:
		return d.mpls(b, rest, s)
	}
	return d.other(layerNext, uint32(number))
}

// macsec reads IEEE 802.1AE, if it is not encrypted.
func (d *Decoder) macsec(b []byte, rest int, s *Segment) bool {
	const (
		identified = 0x20
		encrypted  = 0x0c
		checkBytes = 16
	)
	if d.short(b, rest, 6) || !d.enter(tunnelMACsec) {
		return false
	}
	if b[0]&encrypted != 0 {
		return d.other(layerEther, etherMACsec)
	}
	size := 6
	if b[0]&identified != 0 {
		size = 14
	}
	if d.short(b, rest, size+2) {
		return false
	}
	return d.ether(binary.BigEndian.Uint16(b[size:]), b[size+2:], rest-size-2-checkBytes, s)
}
