package queue

import (
	"encoding/binary"
	"testing"
)

// ipv4 makes a header with an ECN field and a right checksum.
func ipv4(ecn byte) []byte {
	h := []byte{0x45, 0xb8 | ecn, 0x05, 0xdc, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 192, 168, 255, 254}
	binary.BigEndian.PutUint16(h[10:], ^sum(h))
	return h
}

// sum is the ones' complement sum of RFC 1071.
func sum(b []byte) uint16 {
	var s uint32
	for i := 0; i < len(b); i += 2 {
		s += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for s > 0xffff {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

func TestMarkingSetsCongestionExperienced(t *testing.T) {
	ipv6 := func(ecn byte) []byte {
		h := make([]byte, 40)
		h[0] = 0x6b
		h[1] = 0x80 | ecn<<4 | 5
		return h
	}
	for _, c := range []struct {
		name   string
		packet []byte
		marked bool
		want   byte // of the byte with the field
	}{
		{"IPv4, ECT(0)", ipv4(2), true, 0xbb},
		{"IPv4, ECT(1)", ipv4(1), true, 0xbb},
		{"IPv4, marked before", ipv4(3), true, 0xbb},
		{"IPv4, not ECT", ipv4(0), false, 0xb8},
		{"IPv6, ECT(0)", ipv6(2), true, 0xb5},
		{"IPv6, ECT(1)", ipv6(1), true, 0xb5},
		{"IPv6, not ECT", ipv6(0), false, 0x85},
	} {
		if got := markCE(c.packet); got != c.marked {
			t.Errorf("%s: marked %v, want %v", c.name, got, c.marked)
		}
		if c.packet[1] != c.want {
			t.Errorf("%s: byte %#x, want %#x", c.name, c.packet[1], c.want)
		}
		if c.packet[0]>>4 == 4 && sum(c.packet) != 0xffff {
			t.Errorf("%s: the checksum is wrong", c.name)
		}
	}
	if markCE(nil) {
		t.Error("a packet without data was marked")
	}
}

func TestCoDelMarksFlowsThatKnowECN(t *testing.T) {
	for _, c := range []struct {
		ecn   byte
		marks bool
	}{{2, true}, {0, false}} {
		dropped := 0
		q := NewFQCoDel(1, FQCoDelOptions{CoDel: WirelessCoDel}, func(*Packet, Place, int64) { dropped++ })
		for range 3000 {
			q.Push(&Packet{Length: 1500, Data: ipv4(c.ecn)}, 0)
		}
		marked := int64(0)
		for nowNs := int64(0); nowNs < 2e9; nowNs += 1e6 {
			if q.Pop(0, nowNs).Data[1]&3 == 3 {
				marked++
			}
		}
		if (marked > 0) != c.marks || (dropped > 0) == c.marks {
			t.Errorf("ECN field %d: %d marked, %d dropped", c.ecn, marked, dropped)
		}
		if got := q.StatisticsOf(0).Marked; got != marked {
			t.Errorf("ECN field %d: %d counted as marked, want %d", c.ecn, got, marked)
		}
	}
}
