package decode

import (
	"encoding/binary"

	"airtide/internal/packets/read"
)

// Kinds of captures, by their number at tcpdump.org/linktypes.html.
const (
	linkNull          read.LinkType = 0
	linkEthernet      read.LinkType = 1
	linkTokenRing     read.LinkType = 6
	linkARCnet        read.LinkType = 7
	linkSLIP          read.LinkType = 8
	linkPPP           read.LinkType = 9
	linkFDDI          read.LinkType = 10
	linkRawBSD        read.LinkType = 12
	linkRawOpen       read.LinkType = 14
	linkPPPHDLC       read.LinkType = 50
	linkPPPoE         read.LinkType = 51
	linkATM           read.LinkType = 100
	linkRaw           read.LinkType = 101
	linkCHDLC         read.LinkType = 104
	link80211         read.LinkType = 105
	linkATMClassical  read.LinkType = 106
	linkFrameRelay    read.LinkType = 107
	linkLoop          read.LinkType = 108
	linkEncapsulating read.LinkType = 109
	linkCooked        read.LinkType = 113
	linkPFLOG         read.LinkType = 117
	linkPrism         read.LinkType = 119
	linkFibreChannel  read.LinkType = 122
	linkSunATM        read.LinkType = 123
	linkRadiotap      read.LinkType = 127
	linkARCnetLinux   read.LinkType = 129
	linkFireWire      read.LinkType = 138
	linkAVS           read.LinkType = 163
	linkPPPD          read.LinkType = 166
	linkPPI           read.LinkType = 192
	linkPPPWithSide   read.LinkType = 204
	linkCHDLCWithSide read.LinkType = 205
	linkFRWithSide    read.LinkType = 206
	linkMPLS          read.LinkType = 219
	linkIPNET         read.LinkType = 226
	linkIPv4          read.LinkType = 228
	linkIPv6          read.LinkType = 229
	linkNFLOG         read.LinkType = 239
	linkNetAnalyzer   read.LinkType = 240
	linkIPoIB         read.LinkType = 242
	linkPKTAP         read.LinkType = 258
	linkCooked2       read.LinkType = 276
	linkBroadcom      read.LinkType = 281
	linkBroadcomFirst read.LinkType = 282
	linkDSA           read.LinkType = 284
	linkEDSA          read.LinkType = 285
)

// fixed are the links with a header of one size.
var fixed = map[read.LinkType]struct {
	size int
	// kind is the place of an EtherType in the header; without one, the rest is of form next.
	kind int
	next form
}{
	// Address families differ between systems; the version of IP does not.
	linkNull:          {4, -1, formIP},
	linkLoop:          {4, -1, formIP},
	linkTokenRing:     {0, -1, formTokenRing},
	linkSLIP:          {16, -1, formIP},
	linkPPP:           {0, -1, formHDLC},
	linkFDDI:          {13, -1, formLLC},
	linkRawBSD:        {0, -1, formIP},
	linkRawOpen:       {0, -1, formIP},
	linkPPPHDLC:       {0, -1, formHDLC},
	linkPPPoE:         {0, -1, formPPPoE},
	linkATM:           {0, -1, formLLC},
	linkRaw:           {0, -1, formIP},
	linkCHDLC:         {4, 2, 0},
	link80211:         {0, -1, form80211},
	linkFrameRelay:    {0, -1, formFrameRelay},
	linkEncapsulating: {12, -1, formIP},
	linkCooked:        {16, 14, 0},
	linkFibreChannel:  {16, -1, formLLC},
	linkFireWire:      {18, 16, 0},
	linkPPPD:          {1, -1, formPPP},
	linkPPPWithSide:   {1, -1, formHDLC},
	linkCHDLCWithSide: {5, 3, 0},
	linkFRWithSide:    {1, -1, formFrameRelay},
	linkMPLS:          {0, -1, formMPLS},
	linkATMClassical:  {0, -1, formIP},
	linkIPNET:         {24, -1, formIP},
	linkIPv4:          {0, -1, formIP},
	linkIPv6:          {0, -1, formIP},
	linkNetAnalyzer:   {4, -1, formEthernet},
	linkIPoIB:         {44, 40, 0},
	linkCooked2:       {20, 0, 0},
	linkBroadcom:      {18, 16, 0},
	linkBroadcomFirst: {4, -1, formEthernet},
	linkDSA:           {18, 16, 0},
	linkEDSA:          {22, 20, 0},
}

// form is a kind of header that has no number of its own.
type form int

const (
	formIP form = iota
	formEthernet
	formLLC
	formPPP
	formPPPoE
	formHDLC
	formFrameRelay
	formTokenRing
	form80211
	formMPLS
)

// link reads a packet of a link.
func (d *Decoder) link(link read.LinkType, b []byte, rest int, s *Segment) bool {
	if link == linkEthernet {
		return d.ethernet(b, rest, s)
	}
	if header, known := fixed[link]; known {
		if d.short(b, rest, header.size) {
			return false
		}
		inner := b[header.size:]
		if header.kind >= 0 {
			return d.ether(binary.BigEndian.Uint16(b[header.kind:]), inner, rest-header.size, s)
		}
		return d.form(header.next, inner, rest-header.size, s)
	}
	switch link {
	case linkARCnet:
		return d.arcnet(b, rest, 2, s)
	case linkARCnetLinux:
		return d.arcnet(b, rest, 4, s)
	case linkSunATM:
		return d.sunATM(b, rest, s)
	case linkRadiotap, linkPrism, linkAVS, linkPPI:
		return d.radio(link, b, rest, s)
	case linkPFLOG, linkPKTAP:
		return d.sized(link, b, rest, s)
	case linkNFLOG:
		return d.nflog(b, rest, s)
	}
	d.Counts.UnknownLink++
	d.note(layerLink, uint32(link))
	return false
}

func (d *Decoder) form(f form, b []byte, rest int, s *Segment) bool {
	switch f {
	case formEthernet:
		return d.ethernet(b, rest, s)
	case formLLC:
		return d.llc(b, rest, s)
	case formPPP:
		return d.ppp(b, rest, s)
	case formPPPoE:
		return d.pppoe(b, rest, s)
	case formHDLC:
		if len(b) > 4 && (b[0] == 0x0f || b[0] == 0x8f) {
			return d.link(linkCHDLC, b, rest, s)
		}
		return d.ppp(b, rest, s)
	case formFrameRelay:
		return d.frameRelay(b, rest, s)
	case formTokenRing:
		return d.tokenRing(b, rest, s)
	case formMPLS:
		return d.mpls(b, rest, s)
	case form80211:
		return d.wifi(b, rest, 0, s)
	}
	return d.ip(b, rest, s)
}

// ip reads a packet of IP of any version.
func (d *Decoder) ip(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 1) {
		return false
	}
	switch b[0] >> 4 {
	case 4:
		return d.ipv4(b, rest, s)
	case 6:
		return d.ipv6(b, rest, s)
	}
	return d.other(layerVersion, uint32(b[0]>>4))
}

func (d *Decoder) ethernet(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 14) {
		return false
	}
	return d.ether(binary.BigEndian.Uint16(b[12:]), b[14:], rest-14, s)
}

// llc reads the header of IEEE 802.2.
func (d *Decoder) llc(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 3) {
		return false
	}
	const snap, ip = 0xaa, 0x06
	switch {
	case b[0] == ip && b[1] == ip && b[2] == 3:
		return d.ipv4(b[3:], rest-3, s)
	case b[0] != snap || b[1] != snap:
		return d.other(layerSAP, uint32(b[0]))
	case d.short(b, rest, 8):
		return false
	}
	// The organizations 0 and 0000f8 (RFC 1042, 802.1H) number their protocols by EtherTypes.
	organization := uint32(b[3])<<16 | uint32(b[4])<<8 | uint32(b[5])
	if organization != 0 && organization != 0xf8 {
		return d.other(layerSNAP, organization)
	}
	return d.ether(binary.BigEndian.Uint16(b[6:]), b[8:], rest-8, s)
}

// tokenRing reads IEEE 802.5. The first bit of the source tells of a source route.
func (d *Decoder) tokenRing(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 15) {
		return false
	}
	size := 14
	if b[8]&0x80 != 0 {
		size += int(b[14] & 0x1f)
	}
	if d.short(b, rest, size) {
		return false
	}
	return d.llc(b[size:], rest-size, s)
}

// arcnet reads ARCnet. at is the place of the protocol's number.
func (d *Decoder) arcnet(b []byte, rest, at int, s *Segment) bool {
	if d.short(b, rest, at+4) {
		return false
	}
	const (
		ipOld = 240 // RFC 1051: no further header
		ip    = 212 // RFC 1201
		ipv6  = 196
	)
	size := at + 4
	switch kind := b[at]; {
	case kind == ipOld:
		size = at + 1
	case kind != ip && kind != ipv6:
		return d.other(layerARCnet, uint32(kind))
	case b[at+1] == 0xff:
		size = at + 8
	case b[at+1] != 0:
		return d.other(layerARCnetPart, uint32(kind))
	}
	if d.short(b, rest, size) {
		return false
	}
	return d.ip(b[size:], rest-size, s)
}

// frameRelay reads RFC 2427.
func (d *Decoder) frameRelay(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 4) {
		return false
	}
	size := 2
	if b[1]&1 == 0 { // an address of four bytes
		size = 4
	}
	if d.short(b, rest, size+3) {
		return false
	}
	const control = 3
	if b[size] != control {
		// Cisco puts an EtherType here.
		return d.ether(binary.BigEndian.Uint16(b[size:]), b[size+2:], rest-size-2, s)
	}
	size++
	if b[size] == 0 { // padding
		size++
	}
	protocol := b[size]
	size++
	switch protocol {
	case 0xcc, 0x8e:
		return d.ip(b[size:], rest-size, s)
	case 0x80:
		if d.short(b, rest, size+5) {
			return false
		}
		organization := uint32(b[size])<<16 | uint32(b[size+1])<<8 | uint32(b[size+2])
		if organization != 0 {
			return d.other(layerSNAP, organization)
		}
		return d.ether(binary.BigEndian.Uint16(b[size+3:]), b[size+5:], rest-size-5, s)
	}
	return d.other(layerNLPID, uint32(protocol))
}

func (d *Decoder) sunATM(b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 4) {
		return false
	}
	const llc = 2
	if traffic := b[0] & 15; traffic != llc {
		return d.other(layerATM, uint32(traffic))
	}
	return d.llc(b[4:], rest-4, s)
}

// sized reads a header that holds its own size.
func (d *Decoder) sized(link read.LinkType, b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 12) {
		return false
	}
	size := (int(b[0]) + 3) &^ 3
	if link == linkPKTAP {
		size = int(binary.LittleEndian.Uint32(b))
	}
	if size < 12 {
		return d.bad()
	}
	if d.short(b, rest, size) {
		return false
	}
	if link == linkPFLOG {
		return d.ip(b[size:], rest-size, s)
	}
	return d.inner(read.LinkType(binary.LittleEndian.Uint32(b[8:])), b[size:], rest-size, s)
}

// inner reads a packet of a link that another header names.
func (d *Decoder) inner(link read.LinkType, b []byte, rest int, s *Segment) bool {
	if d.deep() {
		return false
	}
	return d.link(link, b, rest, s)
}

// nflog reads a packet of Linux's netfilter: attributes, of which one is the packet. Their numbers
// have the byte order of the machine.
func (d *Decoder) nflog(b []byte, rest int, s *Segment) bool {
	const payload = 9
	if d.short(b, rest, 4) {
		return false
	}
	b = b[4:]
	rest -= 4
	for !d.short(b, rest, 4) {
		order := binary.ByteOrder(binary.LittleEndian)
		if order.Uint16(b[2:]) > 0xff {
			order = binary.BigEndian
		}
		size := int(order.Uint16(b))
		kind := order.Uint16(b[2:])
		if size < 4 {
			return d.bad()
		}
		if kind&0x7fff == payload {
			return d.ip(b[4:], size-4, s)
		}
		size = (size + 3) &^ 3
		if d.short(b, rest, size) {
			return false
		}
		b = b[size:]
		rest -= size
	}
	return false
}
