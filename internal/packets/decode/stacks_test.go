package decode_test

import (
	"encoding/binary"
	"slices"

	"airtide/internal/packets/read"
)

// stack is a kind of headers around a packet of IP.
type stack struct {
	name string
	link read.LinkType
	wrap func(ip []byte) []byte
	// tunnel is the name of the tunnels, as decode.Tunnel has it.
	tunnel string
	// foreign is the reason why gopacket 1.1.19 does not read it.
	foreign string
	// notTshark is the reason why tshark 4.0 does not read it.
	notTshark string
}

func put(values ...any) (b []byte) {
	for _, v := range values {
		switch v := v.(type) {
		case int:
			b = append(b, byte(v))
		case uint16:
			b = binary.BigEndian.AppendUint16(b, v)
		case uint32:
			b = binary.BigEndian.AppendUint32(b, v)
		case []byte:
			b = append(b, v...)
		default:
			panic(v)
		}
	}
	return b
}

func zeros(n int) []byte { return make([]byte, n) }

var addresses = []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}

func frame(kind uint16, body []byte) []byte { return put(addresses, kind, body) }

func ethernet(ip []byte) []byte { return frame(etherType(ip), ip) }

func etherType(ip []byte) uint16 {
	if ip[0]>>4 == 6 {
		return 0x86dd
	}
	return 0x0800
}

func pppType(ip []byte) uint16 {
	if ip[0]>>4 == 6 {
		return 0x0057
	}
	return 0x0021
}

func ipProtocol(ip []byte) int {
	if ip[0]>>4 == 6 {
		return 41
	}
	return 4
}

func ip4(protocol int, body []byte) []byte {
	b := put(0x45, 0, uint16(20+len(body)), uint16(7), uint16(0x4000), 64, protocol, uint16(0),
		[]byte{203, 0, 113, 1, 203, 0, 113, 2})
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(b[10:], ^uint16(sum+sum>>16))
	return append(b, body...)
}

func ip6(protocol int, body []byte) []byte {
	source := put([]byte{0x20, 0x01, 0x0d, 0xb8}, zeros(11), 3)
	target := put([]byte{0x20, 0x01, 0x0d, 0xb8}, zeros(11), 4)
	return put(uint32(6)<<28, uint16(len(body)), protocol, 64, source, target, body)
}

// udp4 is a datagram to a port, or from it.
func udp4(from, to uint16, body []byte) []byte {
	return ip4(17, put(from, to, uint16(8+len(body)), uint16(0), body))
}

func llc(ip []byte) []byte { return put(0xaa, 0xaa, 3, zeros(3), etherType(ip), ip) }

// wifi is a frame of 802.11 to an access point.
func wifi(ip []byte) []byte { return put(0x08, 0x01, uint16(0), zeros(18), uint16(0), llc(ip)) }

func label(value uint32, bottom bool) uint32 {
	entry := value<<12 | 64
	if bottom {
		entry |= 1 << 8
	}
	return entry
}

func gre(flags, kind uint16, fields ...[]byte) []byte {
	return put(flags, kind, slices.Concat(fields...))
}

const (
	noReader = "it has no reader of this"
	noLayer  = "it stops at this header"
)

var stacks = slices.Concat(links, tunnels)

var links = []stack{
	{name: "Ethernet", link: 1, wrap: ethernet},
	{name: "three VLAN tags", link: 1, wrap: func(ip []byte) []byte {
		return frame(0x88a8, put(uint16(3), uint16(0x8100), uint16(4), uint16(0x8100), uint16(5), etherType(ip), ip))
	}},
	{name: "802.3 with SNAP", link: 1, wrap: func(ip []byte) []byte { return frame(uint16(8+len(ip)), llc(ip)) }},
	{name: "VN-Tag", link: 1, foreign: noReader, wrap: func(ip []byte) []byte {
		return frame(0x8926, put(uint32(1), etherType(ip), ip))
	}},
	{name: "Token Ring", link: 6, foreign: noReader, wrap: func(ip []byte) []byte {
		return put(16, 64, addresses, llc(ip))
	}},
	{name: "Token Ring with a route", link: 6, foreign: noReader, wrap: func(ip []byte) []byte {
		b := put(16, 64, addresses, []byte{0x06, 0x00, 0, 0x12, 0, 0x20}, llc(ip))
		b[8] |= 0x80
		return b
	}},
	{name: "PPP", link: 9, wrap: func(ip []byte) []byte { return put(0xff, 3, pppType(ip), ip) }},
	{name: "PPP without address", link: 9, wrap: func(ip []byte) []byte { return put(pppType(ip), ip) }},
	{name: "PPP with a short protocol", link: 9, wrap: func(ip []byte) []byte { return put(int(pppType(ip)), ip) }},
	{name: "PPP in HDLC", link: 50, foreign: noReader, wrap: func(ip []byte) []byte {
		return put(0xff, 3, pppType(ip), ip)
	}},
	{name: "CHDLC as HDLC", link: 50, foreign: noReader, wrap: func(ip []byte) []byte {
		return put(0x0f, 0, etherType(ip), ip)
	}},
	{name: "CHDLC as PPP", link: 9, foreign: noReader, wrap: func(ip []byte) []byte {
		return put(0x0f, 0, etherType(ip), ip)
	}},
	{name: "FabricPath", link: 1, tunnel: "FabricPath", foreign: noReader, wrap: func(ip []byte) []byte {
		return put([]byte{2, 0, 1, 0, 0, 0, 2, 0, 2, 0, 0, 0}, uint16(0x8903), uint16(0x4020), ethernet(ip), zeros(4))
	}},
	{name: "802.1BR", link: 1, foreign: noReader, wrap: func(ip []byte) []byte {
		return frame(0x893f, put(uint16(0xa000), uint16(0x1001), uint16(0), etherType(ip), ip))
	}},
	{name: "FDDI", link: 10, wrap: func(ip []byte) []byte { return put(0x57, addresses, llc(ip)) }},
	{
		name: "PPPoE alone", link: 51, tunnel: "PPPoE", foreign: noReader, notTshark: noReader,
		wrap: func(ip []byte) []byte {
			return put(0x11, 0, uint16(9), uint16(2+len(ip)), pppType(ip), ip)
		},
	},
	{name: "ATM", link: 100, wrap: llc, foreign: noReader},
	{name: "raw", link: 101, wrap: func(ip []byte) []byte { return ip }},
	{name: "CHDLC", link: 104, foreign: noReader, wrap: func(ip []byte) []byte {
		return put(0x0f, 0, etherType(ip), ip)
	}},
	{name: "802.11", link: 105, wrap: wifi, foreign: "it wants a checksum"},
	{name: "802.11 with QoS", link: 105, foreign: "it wants a checksum", wrap: func(ip []byte) []byte {
		return put(0x88, 0x02, uint16(0), zeros(18), uint16(0), uint16(0), llc(ip))
	}},
	{name: "802.11 between access points", link: 105, foreign: "it wants a checksum", wrap: func(ip []byte) []byte {
		return put(0x88, 0x03, uint16(0), zeros(18), uint16(0), zeros(6), uint16(0), llc(ip))
	}},
	{name: "Frame Relay", link: 107, foreign: noReader, wrap: func(ip []byte) []byte {
		nlpid := 0xcc
		if ip[0]>>4 == 6 {
			nlpid = 0x8e
		}
		return put(0x18, 0x41, 3, nlpid, ip)
	}},
	{name: "Frame Relay with SNAP", link: 107, foreign: noReader, wrap: func(ip []byte) []byte {
		return put(0x18, 0x41, 3, 0, 0x80, zeros(3), etherType(ip), ip)
	}},
	{name: "loopback", link: 108, wrap: func(ip []byte) []byte {
		family := uint32(2)
		if ip[0]>>4 == 6 {
			family = 30
		}
		return put(family, ip)
	}},
	{name: "cooked", link: 113, wrap: func(ip []byte) []byte { return put(zeros(3), 1, zeros(10), etherType(ip), ip) }},
	{name: "cooked 2", link: 276, foreign: noReader, wrap: func(ip []byte) []byte {
		return put(etherType(ip), zeros(7), 1, zeros(10), ip)
	}},
	{name: "PFLOG", link: 117, wrap: func(ip []byte) []byte {
		family := 2
		if ip[0]>>4 == 6 {
			family = 24
		}
		return put(61, family, zeros(62), ip)
	}},
	{name: "Prism", link: 119, foreign: noLayer, wrap: func(ip []byte) []byte {
		return put(uint32(0x44000000), []byte{144, 0, 0, 0}, zeros(136), wifi(ip))
	}},
	{name: "radiotap", link: 127, wrap: func(ip []byte) []byte {
		return put(zeros(2), []byte{8, 0, 0, 0, 0, 0}, wifi(ip))
	}},
	{name: "radiotap with padding", link: 127, wrap: func(ip []byte) []byte {
		// A clock, the flags, and a second word of fields.
		radio := put(zeros(2), []byte{25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0}, zeros(4), zeros(8), 0x20)
		return put(radio, 0x88, 0x01, uint16(0), zeros(18), uint16(0), uint16(0), zeros(2), llc(ip))
	}},
	{name: "ARCnet", link: 129, foreign: noReader, wrap: func(ip []byte) []byte {
		kind := 212
		if ip[0]>>4 == 6 {
			kind = 196
		}
		return put(1, 2, uint16(0), kind, 0, uint16(1), ip)
	}, notTshark: "it reads no IPv6 there"},
	{name: "FireWire", link: 138, foreign: noReader, wrap: func(ip []byte) []byte {
		return put(zeros(16), etherType(ip), ip)
	}},
	{name: "PPI", link: 192, foreign: "it wants a checksum", wrap: func(ip []byte) []byte {
		return put(zeros(2), []byte{8, 0, 105, 0, 0, 0}, wifi(ip))
	}},
	{name: "PPP with direction", link: 204, foreign: noReader, wrap: func(ip []byte) []byte {
		return put(0, 0xff, 3, pppType(ip), ip)
	}},
	{name: "NFLOG", link: 239, foreign: noReader, wrap: func(ip []byte) []byte {
		family := 2
		if ip[0]>>4 == 6 {
			family = 10
		}
		size := binary.LittleEndian.AppendUint16(nil, uint16(4+len(ip)))
		return put(family, zeros(3), []byte{5, 0, 10, 0, 'x', 0, 0, 0}, size, []byte{9, 0}, ip, zeros(-len(ip)&3))
	}},
	{name: "DSA tag", link: 284, foreign: noReader, notTshark: noReader, wrap: func(ip []byte) []byte {
		return put(addresses, uint32(0x40000000), etherType(ip), ip)
	}},
}

var tunnels = []stack{
	{name: "PPPoE", link: 1, tunnel: "PPPoE", wrap: func(ip []byte) []byte {
		return frame(0x8864, put(0x11, 0, uint16(9), uint16(2+len(ip)), pppType(ip), ip))
	}},
	{name: "PPPoE in VLAN", link: 1, tunnel: "PPPoE", wrap: func(ip []byte) []byte {
		return frame(0x8100, put(uint16(7), uint16(0x8864), 0x11, 0, uint16(9), uint16(2+len(ip)), pppType(ip), ip))
	}},
	{name: "MPLS", link: 1, tunnel: "MPLS", wrap: func(ip []byte) []byte {
		return frame(0x8847, put(label(100, false), label(101, true), ip))
	}},
	{name: "MPLS in PPP", link: 9, tunnel: "MPLS", wrap: func(ip []byte) []byte {
		return put(uint16(0x0281), label(100, true), ip)
	}},
	{
		name: "Ethernet in MPLS", link: 1, tunnel: "MPLS", foreign: noLayer, notTshark: "it wants to be told",
		wrap: func(ip []byte) []byte {
			return frame(0x8847, put(label(100, true), uint32(0), ethernet(ip)))
		},
	},
	{name: "802.1ah", link: 1, tunnel: "802.1ah", foreign: noReader, wrap: func(ip []byte) []byte {
		return frame(0x88e7, put(uint32(100), ethernet(ip)))
	}},
	{name: "MACsec without encryption", link: 1, tunnel: "MACsec", foreign: noReader, wrap: func(ip []byte) []byte {
		return frame(0x88e5, put(0x20, 0, uint32(1), zeros(8), etherType(ip), ip, zeros(16)))
	}, notTshark: "version 4.0 stops at it"},
	{name: "NSH", link: 1, tunnel: "NSH", foreign: noReader, wrap: func(ip []byte) []byte {
		next := 1
		if ip[0]>>4 == 6 {
			next = 2
		}
		return frame(0x894f, put(uint16(0x0fc2), 2, next, uint32(0x100ff), ip))
	}},
	{name: "IP in IPv4", link: 1, tunnel: "IPv# in IPv4", wrap: func(ip []byte) []byte {
		return ethernet(ip4(ipProtocol(ip), ip))
	}},
	{name: "IP in IPv6", link: 1, tunnel: "IPv# in IPv6", wrap: func(ip []byte) []byte {
		return ethernet(ip6(ipProtocol(ip), ip))
	}},
	{name: "IP in IPv6 behind options", link: 1, tunnel: "IPv# in IPv6", wrap: func(ip []byte) []byte {
		return ethernet(ip6(60, put(ipProtocol(ip), 0, []byte{4, 1, 4, 1, 0, 0}, ip)))
	}},
	{name: "AH", link: 1, tunnel: "IPv# in IPv4", wrap: func(ip []byte) []byte {
		return ethernet(ip4(51, put(ipProtocol(ip), 4, uint16(0), uint32(1), uint32(1), zeros(12), ip)))
	}},
	{name: "EtherIP", link: 1, tunnel: "EtherIP", wrap: func(ip []byte) []byte {
		return ethernet(ip4(97, put(uint16(0x3000), ethernet(ip))))
	}},
	{name: "MPLS in IP", link: 1, tunnel: "MPLS", wrap: func(ip []byte) []byte {
		return ethernet(ip4(137, put(label(100, true), ip)))
	}},
	{name: "GRE", link: 1, tunnel: "GRE", wrap: func(ip []byte) []byte {
		return ethernet(ip4(47, gre(0, etherType(ip), ip)))
	}},
	{name: "GRE with all fields", link: 1, tunnel: "GRE", wrap: func(ip []byte) []byte {
		return ethernet(ip4(47, gre(0xb000, etherType(ip), zeros(4), zeros(4), zeros(4), ip)))
	}},
	{name: "GRE with a key in IPv6", link: 1, tunnel: "GRE", wrap: func(ip []byte) []byte {
		return ethernet(ip6(47, gre(0x2000, etherType(ip), zeros(4), ip)))
	}},
	{name: "GRE with a route", link: 1, tunnel: "GRE", wrap: func(ip []byte) []byte {
		route := put(uint16(0x0800), 0, 4, uint32(0xcb007103), uint32(0))
		return ethernet(ip4(47, gre(0x4000, etherType(ip), zeros(4), route, ip)))
	}},
	{name: "Ethernet in GRE", link: 1, tunnel: "GRE", wrap: func(ip []byte) []byte {
		return ethernet(ip4(47, gre(0x2000, 0x6558, zeros(4), ethernet(ip))))
	}},
	{name: "PPTP", link: 1, tunnel: "GRE", wrap: func(ip []byte) []byte {
		size := put(uint16(4+len(ip)), uint16(1))
		return ethernet(ip4(47, gre(0x3081, 0x880b, size, zeros(4), zeros(4), put(0xff, 3, pppType(ip), ip))))
	}},
	{
		name: "ERSPAN I", link: 1, tunnel: "ERSPAN in GRE", foreign: "it takes it for type II",
		wrap: func(ip []byte) []byte {
			return ethernet(ip4(47, gre(0, 0x88be, ethernet(ip))))
		},
	},
	{name: "ERSPAN II", link: 1, tunnel: "ERSPAN in GRE", wrap: func(ip []byte) []byte {
		return ethernet(ip4(47, gre(0x1000, 0x88be, zeros(4), put(uint16(0x1000), uint16(1), zeros(4)), ethernet(ip))))
	}},
	{name: "ERSPAN III", link: 1, tunnel: "ERSPAN in GRE", foreign: noReader, wrap: func(ip []byte) []byte {
		return ethernet(ip4(47, gre(0x1000, 0x22eb, zeros(4), put(uint16(0x2000), uint16(1), zeros(8)), ethernet(ip))))
	}},
	{name: "VXLAN", link: 1, tunnel: "VXLAN", wrap: func(ip []byte) []byte {
		return ethernet(udp4(50000, 4789, put(uint32(8)<<24, uint32(5)<<8, ethernet(ip))))
	}},
	{
		name: "VXLAN on the port of Linux", link: 1, tunnel: "VXLAN", foreign: "another port",
		notTshark: "another port",
		wrap: func(ip []byte) []byte {
			return ethernet(udp4(50000, 8472, put(uint32(8)<<24, uint32(5)<<8, ethernet(ip))))
		},
	},
	{name: "VXLAN-GPE", link: 1, tunnel: "VXLAN", foreign: noReader, wrap: func(ip []byte) []byte {
		next := uint32(1)
		if ip[0]>>4 == 6 {
			next = 2
		}
		return ethernet(udp4(50000, 4790, put(uint32(0x0c)<<24|next, uint32(5)<<8, ip)))
	}},
	{name: "Geneve", link: 1, tunnel: "Geneve", wrap: func(ip []byte) []byte {
		return ethernet(udp4(50000, 6081, put(2, 0, uint16(0x6558), uint32(5)<<8, uint32(0x01020301),
			zeros(4), ethernet(ip))))
	}},
	{name: "IP in Geneve", link: 1, tunnel: "Geneve", wrap: func(ip []byte) []byte {
		return ethernet(udp4(50000, 6081, put(0, 0, etherType(ip), uint32(5)<<8, ip)))
	}},
	{name: "GTP-U", link: 1, tunnel: "GTP-U", wrap: func(ip []byte) []byte {
		return ethernet(udp4(2152, 2152, put(0x30, 0xff, uint16(len(ip)), uint32(5), ip)))
	}},
	{name: "GTP-U with extensions", link: 1, tunnel: "GTP-U", wrap: func(ip []byte) []byte {
		extension := put(uint16(1), 0, 0x85, 1, uint16(0x1009), 0x85, 1, uint16(0x1009), 0)
		return ethernet(udp4(2152, 40000, put(0x36, 0xff, uint16(12+len(ip)), uint32(5), extension, ip)))
	}},
	{name: "L2TP", link: 1, tunnel: "L2TP", foreign: noReader, wrap: func(ip []byte) []byte {
		return ethernet(udp4(1701, 1701, put(uint16(0x0002), uint16(1), uint16(2), 0xff, 3, pppType(ip), ip)))
	}},
	{name: "L2TP with all fields", link: 1, tunnel: "L2TP", foreign: noReader, wrap: func(ip []byte) []byte {
		body := put(uint16(1), uint16(2), uint16(3), uint16(4), uint16(0), pppType(ip), ip)
		return ethernet(udp4(1701, 1701, put(uint16(0x4a02), uint16(4+len(body)), body)))
	}},
	{name: "MPLS in UDP", link: 1, tunnel: "MPLS", foreign: noReader, wrap: func(ip []byte) []byte {
		return ethernet(udp4(50000, 6635, put(label(100, true), ip)))
	}},
	{name: "GRE in UDP", link: 1, tunnel: "GRE", foreign: noReader, wrap: func(ip []byte) []byte {
		return ethernet(udp4(50000, 4754, gre(0, etherType(ip), ip)))
	}},
	{name: "TZSP", link: 1, tunnel: "TZSP", foreign: noReader, wrap: func(ip []byte) []byte {
		return ethernet(udp4(50000, 37008, put(1, 0, uint16(1), 0, 10, 1, 5, 1, ethernet(ip))))
	}},
	{name: "CAPWAP", link: 1, tunnel: "CAPWAP", foreign: noReader, wrap: func(ip []byte) []byte {
		return ethernet(udp4(50000, 5247, put(0, 0x10, 0x02, 0, uint32(0), ethernet(ip))))
	}},
	{name: "802.11 in CAPWAP", link: 1, tunnel: "CAPWAP", foreign: noReader, wrap: func(ip []byte) []byte {
		swapped := put(0x01, 0x08, uint16(0), zeros(18), 0x76, 0x30, llc(ip))
		return ethernet(udp4(50000, 5247, put(0, 0x10, 0x03, 0, uint32(0), swapped)))
	}},
	{name: "802.11 in GRE", link: 1, tunnel: "GRE", foreign: noReader, wrap: func(ip []byte) []byte {
		return ethernet(ip4(47, gre(0, 0x8240, wifi(ip))))
	}},
	{name: "GRE in IPv6 in MPLS in PPPoE", link: 1, tunnel: "GRE in MPLS in PPPoE", wrap: func(ip []byte) []byte {
		inner := ip6(47, gre(0, etherType(ip), ip))
		return frame(0x8864, put(0x11, 0, uint16(9), uint16(6+len(inner)), uint16(0x0281), label(9, true), inner))
	}},
}
