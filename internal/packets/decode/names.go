package decode

import (
	"cmp"
	"fmt"
	"slices"
)

// layer is a protocol layer that numbers the kinds of unread packets.
type layer uint8

const (
	layerLink layer = iota
	layerEther
	layerSAP
	layerSNAP
	layerPPP
	layerIP
	layerWiFi
	layerVersion
	layerMPLS
	layerNext
	layerNLPID
	layerATM
	layerARCnet
	layerARCnetPart
	layerMany
)

// layers have a name for users, a format of their numbers, and names for the kinds.
var layers = [...]struct {
	name, format string
	kinds        map[uint32]string
}{
	layerLink:       {"link type", "%d", linkNames},
	layerEther:      {"EtherType", "0x%04x", etherNames},
	layerSAP:        {"LLC SAP", "0x%02x", sapNames},
	layerSNAP:       {"SNAP organization", "0x%06x", nil},
	layerPPP:        {"PPP protocol", "0x%04x", pppNames},
	layerIP:         {"IP protocol", "%d", protocolNames},
	layerWiFi:       {"802.11 frame", "%d", wifiNames},
	layerVersion:    {"IP version", "%d", nil},
	layerMPLS:       {"MPLS payload", "%d", nil},
	layerNext:       {"NSH protocol", "%d", nil},
	layerNLPID:      {"NLPID", "0x%02x", nil},
	layerATM:        {"ATM traffic type", "%d", nil},
	layerARCnet:     {"ARCnet protocol", "%d", nil},
	layerARCnetPart: {"ARCnet fragment", "%d", nil},
	layerMany:       {"further kinds", "%d", nil},
}

// kind names packets that are not read.
type kind struct {
	layer  layer
	number uint32
}

// maxKinds bounds the kinds that are counted apart.
const maxKinds = 256

// Unread is a kind of packets that was not looked into.
type Unread struct {
	Name   string `json:"name"`   // empty if unknown
	Layer  string `json:"layer"`  // kind of number: link type, EtherType, IP protocol, ...
	Number uint32 `json:"number"` // the layer's number of the protocol
	// Packets are among those of other protocols, or of unknown links.
	Packets uint64 `json:"packets"`
	format  string
}

// String names a kind with its number.
func (u Unread) String() string {
	number := u.Layer + " " + fmt.Sprintf(u.format, u.Number)
	if u.Name == "" {
		return number
	}
	return u.Name + " (" + number + ")"
}

// Link reports whether the kind is that of a link.
func (u Unread) Link() bool { return u.Layer == layers[layerLink].name }

// Tunnel is a kind of tunnels around segments, such as "VXLAN" or "IPv4 in IPv6 in GRE".
type Tunnel struct {
	Name string `json:"name"`
	TCP  uint64 `json:"tcp_packets"`
}

// other counts a packet of another protocol.
func (d *Decoder) other(l layer, number uint32) bool {
	d.Counts.Other++
	d.note(l, number)
	return false
}

func (d *Decoder) note(l layer, number uint32) {
	if d.unread == nil {
		d.unread = map[kind]uint64{}
	}
	k := kind{l, number}
	if _, known := d.unread[k]; !known && len(d.unread) >= maxKinds {
		k = kind{layerMany, 0}
	}
	d.unread[k]++
}

// Unread returns the kinds that were not looked into, those with most packets first.
func (d *Decoder) Unread() (all []Unread) {
	for k, n := range d.unread {
		l := &layers[k.layer]
		all = append(all, Unread{l.kinds[k.number], l.name, k.number, n, l.format})
	}
	slices.SortFunc(all, func(a, b Unread) int {
		return cmp.Or(cmp.Compare(b.Packets, a.Packets), cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Number, b.Number))
	})
	return all
}

// Tunnels returns the tunnels around segments, those with most segments first.
func (d *Decoder) Tunnels() (all []Tunnel) {
	for p, n := range d.tunnels {
		all = append(all, Tunnel{p.String(), n})
	}
	slices.SortFunc(all, func(a, b Tunnel) int {
		return cmp.Or(cmp.Compare(b.TCP, a.TCP), cmp.Compare(a.Name, b.Name))
	})
	return all
}

var wifiNames = map[uint32]string{
	wifiManagement: "802.11 management", wifiControl: "802.11 control", wifiNoData: "802.11 without data",
	wifiExtension: "802.11 extension", wifiEncrypted: "encrypted 802.11 data",
	wifiFragment: "fragment of 802.11 data",
}

var sapNames = map[uint32]string{
	0x00: "LLC null", 0x42: "spanning tree", 0x7e: "X.25", 0xe0: "IPX", 0xf0: "NetBIOS", 0xf8: "RPL", 0xfe: "OSI",
	0xff: "IPX",
}

var etherNames = map[uint32]string{
	0x0001: "IEEE 802.3", 0x000c: "CAN", 0x000d: "CAN FD", 0x00fe: "OSI", 0x0200: "PUP", 0x0600: "XNS",
	0x0806: "ARP", 0x0842: "Wake-on-LAN", 0x22eb: "ERSPAN III", 0x22f0: "AVTP", 0x22f3: "TRILL", 0x6000: "DEC",
	0x6002: "MOP", 0x6003: "DECnet", 0x6004: "LAT", 0x6559: "raw Frame Relay", 0x8035: "RARP", 0x809b: "AppleTalk",
	0x80f3: "AppleTalk ARP", 0x8137: "IPX", 0x8138: "IPX", 0x8204: "QNX", 0x8808: "flow control",
	0x8809: "slow protocols", 0x880b: "PPP", 0x8847: "MPLS", 0x8848: "MPLS", 0x8863: "PPPoE discovery",
	0x8864: "PPPoE", 0x886d: "Intel ANS", 0x887b: "HomePlug", 0x888e: "EAPOL", 0x8892: "PROFINET",
	0x8899: "Realtek", 0x889a: "HyperSCSI", 0x88a2: "ATA over Ethernet", 0x88a4: "EtherCAT", 0x88ab: "POWERLINK",
	0x88b8: "GOOSE", 0x88ba: "sampled values", 0x88be: "ERSPAN", 0x88c7: "802.11 pre-authentication",
	0x88cc: "LLDP", 0x88cd: "SERCOS", 0x88e1: "HomePlug AV", 0x88e5: "MACsec", 0x88e7: "802.1ah", 0x88f5: "MVRP",
	0x88f7: "PTP", 0x8902: "CFM", 0x8906: "FCoE", 0x890d: "802.11 TDLS", 0x8914: "FCoE initialization",
	0x8915: "RoCE", 0x8926: "VN-Tag", 0x893a: "IEEE 1905.1", 0x893f: "802.1BR", 0x894f: "NSH", 0x9000: "loopback",
	0x99fe: "Ether-S-Bus",
}

var pppNames = map[uint32]string{
	0x0023: "OSI", 0x0029: "AppleTalk", 0x002b: "IPX", 0x002d: "TCP with compressed header",
	0x002f: "TCP for compression", 0x0031: "bridged PPP", 0x003d: "PPP multilink fragment", 0x0049: "raw PPP",
	0x0053: "encrypted PPP", 0x00fb: "compressed PPP link", 0x00fd: "compressed PPP", 0x8021: "IPCP",
	0x8057: "IPv6CP", 0x80fd: "CCP", 0x8281: "MPLSCP", 0xc021: "LCP", 0xc023: "PAP", 0xc025: "link quality",
	0xc223: "CHAP", 0xc227: "EAP",
}

var protocolNames = map[uint32]string{
	0: "hop-by-hop options", 1: "ICMP", 2: "IGMP", 3: "GGP", 4: "IPv4", 8: "EGP", 9: "IGRP", 17: "UDP", 27: "RDP",
	33: "DCCP", 36: "XTP", 41: "IPv6", 43: "IPv6 route", 44: "IPv6 fragment", 46: "RSVP", 47: "GRE", 48: "DSR",
	50: "ESP, encrypted", 51: "AH", 54: "NARP", 55: "minimal encapsulation", 56: "TLSP", 57: "SKIP", 58: "ICMPv6",
	59: "nothing", 60: "IPv6 options", 84: "TTP", 88: "EIGRP", 89: "OSPF", 94: "IPIP", 97: "EtherIP",
	98: "encapsulation header", 103: "PIM", 108: "IPComp, compressed", 112: "VRRP", 113: "PGM", 115: "L2TPv3",
	118: "STP", 124: "IS-IS", 132: "SCTP", 133: "Fibre Channel", 135: "mobility", 136: "UDP-Lite", 137: "MPLS",
	138: "MANET", 139: "HIP", 140: "Shim6", 142: "ROHC", 143: "Ethernet",
}

var linkNames = map[uint32]string{
	2: "experimental Ethernet", 3: "AX.25", 4: "ProNET", 5: "Chaosnet", 32: "Redback SmartEdge",
	99: "Symantec firewall", 102: "SLIP of BSD/OS", 103: "PPP of BSD/OS", 110: "ATM LANE", 111: "HIPPI",
	112: "HDLC", 114: "LocalTalk", 115: "Econet", 116: "IPFilter", 118: "Cisco IOS", 120: "Aironet", 121: "HHDLC",
	124: "RapidIO", 125: "PCI Express", 126: "Aurora", 128: "TZSP", 130: "Juniper MLPPP", 131: "Juniper MLFR",
	132: "Juniper ES", 133: "Juniper GGSN", 134: "Juniper MFR", 135: "Juniper ATM2", 136: "Juniper services",
	137: "Juniper ATM1", 139: "MTP2 with header", 140: "MTP2", 141: "MTP3", 142: "SCCP", 143: "DOCSIS", 144: "IrDA",
	147: "user 0", 148: "user 1", 149: "user 2", 150: "user 3", 151: "user 4", 152: "user 5", 153: "user 6",
	154: "user 7", 155: "user 8", 156: "user 9", 157: "user 10", 158: "user 11", 159: "user 12", 160: "user 13",
	161: "user 14", 162: "user 15", 164: "Juniper monitor", 165: "BACnet MS/TP", 167: "Juniper PPPoE",
	168: "Juniper PPPoE ATM", 169: "GPRS LLC", 170: "GFP-T", 171: "GFP-F", 174: "Juniper PIC", 175: "ERF Ethernet",
	176: "ERF PoS", 177: "LAPD", 178: "Juniper Ethernet", 179: "Juniper PPP", 180: "Juniper Frame Relay",
	181: "Juniper CHDLC", 182: "multilink Frame Relay", 183: "Juniper VP", 187: "Bluetooth HCI",
	186: "USB for FreeBSD", 188: "802.16 MAC", 189: "USB for Linux", 190: "CAN 2.0B", 191: "802.15.4 for Linux",
	193: "802.16 with radio", 194: "Juniper ISM", 195: "802.15.4", 196: "SITA", 197: "ERF", 198: "RAIF1",
	199: "IPMB", 200: "Juniper ST", 201: "Bluetooth HCI with direction", 202: "AX.25 KISS", 203: "LAPD",
	207: "LAPB", 209: "IPMB for Linux", 210: "FlexRay", 211: "MOST", 212: "LIN", 213: "X2E serial",
	214: "X2E Xoraya", 215: "802.15.4 with PHY", 216: "Linux evdev", 217: "GSM Um", 218: "GSM Abis",
	220: "USB for Linux", 221: "DECT", 222: "AOS", 223: "WirelessHART", 224: "Fibre Channel FC-2",
	225: "Fibre Channel FC-2 with delimiters", 227: "CAN", 230: "802.15.4 without FCS", 231: "D-Bus",
	232: "Juniper VS", 233: "Juniper SRX E2E", 234: "Juniper Fibre Channel", 235: "DVB-CI",
	236: "multiplexed 27.010", 237: "STANAG 5066", 238: "Juniper ATM CEMIC",
	241: "Hilscher netANALYZER transparent", 243: "MPEG-2 transport stream", 244: "ng40", 245: "NFC LLCP",
	246: "packet filter state", 247: "InfiniBand", 248: "SCTP", 249: "USBPcap", 250: "RTAC serial",
	251: "Bluetooth LE", 252: "Wireshark upper PDU", 253: "netlink", 254: "Bluetooth monitor",
	255: "Bluetooth baseband", 256: "Bluetooth LE with radio", 257: "PROFIBUS", 259: "EPON", 260: "IPMI HPM.2",
	261: "Z-Wave R1", 262: "Z-Wave R3", 263: "WattStopper DLM", 264: "ISO 14443", 265: "RDS", 266: "USB for Darwin",
	267: "OpenFlow", 268: "SDLC", 269: "TI LLN sniffer", 270: "LoRaTap", 271: "vsock", 272: "Nordic BLE",
	273: "DOCSIS 3.1 XRA", 274: "Ethernet mPacket", 275: "DisplayPort AUX", 277: "Apple USB", 278: "OpenVizsla",
	279: "Elektrobit", 280: "VPP dispatch", 283: "802.15.4 TAP", 286: "ELEE", 287: "Z-Wave serial", 288: "USB 2.0",
	289: "ATSC ALP", 290: "Windows events", 291: "Hilscher netANALYZER", 292: "ZBOSS NCP", 293: "USB 2.0 low speed",
	294: "USB 2.0 full speed", 295: "USB 2.0 high speed", 296: "Auerswald log", 297: "Z-Wave TAP",
	298: "Silabs debug channel", 299: "FIRA UCI", 300: "MDB", 301: "DECT NR+",
}
