package decode

import (
	"encoding/binary"

	"airtide/internal/packets/read"
)

// radio reads the headers that drivers put before a frame of 802.11.
func (d *Decoder) radio(link read.LinkType, b []byte, rest int, s *Segment) bool {
	if d.short(b, rest, 8) {
		return false
	}
	size := 0
	flags := byte(0)
	inner := link80211
	switch link {
	case linkRadiotap:
		size = int(binary.LittleEndian.Uint16(b[2:]))
		flags = radiotapFlags(b)
	case linkPrism:
		size = int(binary.LittleEndian.Uint32(b[4:]))
		if size > maxRadio {
			size = int(binary.BigEndian.Uint32(b[4:]))
		}
		if binary.BigEndian.Uint32(b)>>12 == 0x80211 { // an AVS header under the number of Prism
			size = int(binary.BigEndian.Uint32(b[4:]))
		}
	case linkAVS:
		size = int(binary.BigEndian.Uint32(b[4:]))
	case linkPPI:
		size = int(binary.LittleEndian.Uint16(b[2:]))
		inner = read.LinkType(binary.LittleEndian.Uint32(b[4:]))
	}
	if size < 8 || size > maxRadio {
		return d.bad()
	}
	if d.short(b, rest, size) {
		return false
	}
	if inner != link80211 {
		return d.inner(inner, b[size:], rest-size, s)
	}
	return d.wifi(b[size:], rest-size, flags, s)
}

// maxRadio bounds the header of a driver.
const maxRadio = 1 << 16

// Flags of radiotap.
const radiotapPadded = 0x20 // the header of 802.11 is padded to four bytes

// radiotapFlags returns the flags field, or 0 if there is none.
func radiotapFlags(b []byte) byte {
	at := 4
	present := binary.LittleEndian.Uint32(b[at:])
	for word := present; word&(1<<31) != 0 && at+8 <= len(b); {
		at += 4
		word = binary.LittleEndian.Uint32(b[at:])
	}
	at += 4
	if present&1 != 0 { // a clock of 8 bytes, at a multiple of 8
		at = (at+7)&^7 + 8
	}
	if present&2 == 0 || at >= len(b) {
		return 0
	}
	return b[at]
}

// Frames of 802.11 that are not looked into, by numbers of layerWiFi.
const (
	wifiManagement = iota
	wifiControl
	wifiNoData
	wifiExtension
	wifiEncrypted
	wifiFragment
)

// wifi reads a frame of 802.11. Of frames that were aggregated, it reads the first.
func (d *Decoder) wifi(b []byte, rest int, flags byte, s *Segment) bool {
	if d.short(b, rest, 10) {
		return false
	}
	const (
		bothSystems = 0x0300
		more        = 0x0400
		encrypted   = 0x4000
		order       = 0x8000
		data        = 2
	)
	control := binary.LittleEndian.Uint16(b)
	kind := control >> 2 & 3
	subtype := control >> 4 & 15
	if kind != data {
		return d.other(layerWiFi, [...]uint32{wifiManagement, wifiControl, 0, wifiExtension}[kind])
	}
	if subtype&4 != 0 {
		return d.other(layerWiFi, wifiNoData)
	}
	size := 24
	if control&bothSystems == bothSystems {
		size += 6
	}
	qos := subtype&8 != 0
	if qos {
		size += 2
		if control&order != 0 {
			size += 4
		}
	}
	if d.short(b, rest, size) {
		return false
	}
	switch part := b[22] & 15; {
	case control&encrypted != 0:
		return d.other(layerWiFi, wifiEncrypted)
	case control&more != 0, part != 0:
		return d.other(layerWiFi, wifiFragment)
	}
	if qos {
		field := 24
		if control&bothSystems == bothSystems {
			field = 30
		}
		if aggregated := b[field]&0x80 != 0; aggregated {
			size += 14
		}
	}
	if flags&radiotapPadded != 0 {
		size = (size + 3) &^ 3
	}
	if d.short(b, rest, size) {
		return false
	}
	return d.llc(b[size:], rest-size, s)
}
