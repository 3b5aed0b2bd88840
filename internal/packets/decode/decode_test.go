package decode_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"airtide/internal/packets/decode"
	"airtide/internal/packets/read"
	"airtide/test/capture"
)

var (
	segment = capture.TCP{
		From: netip.MustParseAddrPort("192.0.2.9:5201"), To: netip.MustParseAddrPort("192.0.2.1:40000"),
		Seq: 1000, Ack: 2000, Flags: decode.ACK | decode.PSH, Window: 500, Payload: 100,
		Options: []byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 10, 0, 0, 0, 10, 0, 0, 0, 20},
	}
	segment6 = capture.TCP{
		From: netip.MustParseAddrPort("[2001:db8::1]:1"), To: netip.MustParseAddrPort("[2001:db8::2]:2"),
		Flags: decode.SYN, Options: []byte{2, 4, 5, 180, 3, 3, 7, 4, 2},
	}
)

func TestLinks(t *testing.T) {
	ip := segment.IP()
	for name, c := range map[string]struct {
		link read.LinkType
		data []byte
	}{
		"Ethernet":  {1, capture.Ethernet(ip)},
		"padded":    {1, append(capture.Ethernet(ip), 0, 0, 0, 0)},
		"VLAN":      {1, capture.Ethernet(ip, 7)},
		"two VLANs": {1, capture.Ethernet(ip, 7, 8)},
		"cooked":    {113, capture.Cooked(ip, 1)},
		"cooked 2":  {276, capture.Cooked(ip, 2)},
		"raw":       {101, ip}, "raw BSD": {12, ip}, "IPv4": {228, ip},
		"null": {0, append([]byte{2, 0, 0, 0}, ip...)},
		"loop": {108, append([]byte{0, 0, 0, 2}, ip...)},
	} {
		var d decode.Decoder
		var s decode.Segment
		p := read.Packet{Number: 1, Data: c.data, Length: len(c.data), Link: c.link}
		if !d.Decode(&p, &s) {
			t.Errorf("%s: %+v", name, d.Counts)
			continue
		}
		if s.Payload != 100 || s.Seq != 1000 || s.Ack != 2000 || s.Window != 500 || !s.Timestamps ||
			s.NumBlocks != 1 || s.Blocks[0] != (decode.Block{Start: 10, End: 20}) || s.MissingOptions > 0 ||
			s.From != 1 || s.Key.Endpoint(1) != segment.From || s.Key.Endpoint(0) != segment.To {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestIPv6AndOptionsOfASYN(t *testing.T) {
	var d decode.Decoder
	var s decode.Segment
	ip := segment6.IP()
	// A hop-by-hop header in front of TCP.
	extended := append(append([]byte{}, ip[:40]...), append([]byte{6, 0, 0, 0, 0, 0, 0, 0}, ip[40:]...)...)
	extended[5] += 8
	extended[6] = 0
	for _, data := range [][]byte{ip, extended} {
		p := read.Packet{Data: data, Length: len(data), Link: 101}
		if !d.Decode(&p, &s) || s.MSS != 1460 || s.Scale != 7 || !s.SACKPermitted || s.Payload != 0 ||
			s.Key.Endpoint(int(s.From)) != segment6.From {
			t.Errorf("%+v, %+v", s, d.Counts)
		}
	}
}

// A route in the header names the receiver. Its answers come from there, not from the next router.
func TestRoutes(t *testing.T) {
	with4 := func(options ...byte) []byte {
		ip := segment.IP()
		b := append(append([]byte{}, ip[:20]...), append(options, ip[20:]...)...)
		b[0] += byte(len(options) / 4)
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
		return b
	}
	with6 := func(header ...byte) []byte {
		ip := segment6.IP()
		b := append(append([]byte{}, ip[:40]...), append(header, ip[40:]...)...)
		binary.BigEndian.PutUint16(b[4:], uint16(len(b)-40))
		b[6] = 43
		return b
	}
	route6 := func(kind, ahead byte) []byte {
		first := netip.MustParseAddr("2001:db8::f").As16()
		last := netip.MustParseAddr("2001:db8::a").As16()
		header := []byte{6, 4, kind, ahead, 1, 0, 0, 0}
		return with6(append(append(header, first[:]...), last[:]...)...)
	}
	mobile := netip.MustParseAddr("2001:db8::b").As16()
	home := with6(append([]byte{6, 2, 2, 1, 0, 0, 0, 0}, mobile[:]...)...)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"loose":              {with4(1, 131, 11, 4, 9, 9, 9, 9, 8, 8, 8, 8), "8.8.8.8"},
		"strict":             {with4(137, 7, 4, 8, 8, 8, 8, 0), "8.8.8.8"},
		"behind a timestamp": {with4(68, 4, 5, 0, 131, 7, 4, 8, 8, 8, 8, 0), "8.8.8.8"},
		"route is over":      {with4(131, 7, 8, 8, 8, 8, 8, 0), "192.0.2.1"},
		"too short":          {with4(131, 6, 4, 8), "192.0.2.1"},
		"too long":           {with4(131, 9, 4, 8), "192.0.2.1"},
		"ended":              {with4(0, 131, 7, 4, 8, 8, 8, 8), "192.0.2.1"},
		"IPv6 list":          {route6(0, 1), "2001:db8::a"},
		"IPv6 list is over":  {route6(0, 0), "2001:db8::2"},
		"IPv6 segments":      {route6(4, 1), "2001:db8::f"},
		"IPv6 mobile":        {home, "2001:db8::b"},
		"IPv6 other route":   {route6(9, 1), "2001:db8::2"},
	} {
		var d decode.Decoder
		var s decode.Segment
		p := read.Packet{Data: c.data, Length: len(c.data), Link: 101}
		if !d.Decode(&p, &s) || s.Key.Endpoint(1-int(s.From)).Addr() != netip.MustParseAddr(c.want) {
			t.Errorf("%s: %+v, %+v", name, s, d.Counts)
		}
	}
}

// A snaplen may cut the payload or the options. Without a whole TCP header nothing is decoded.
func TestHeadersCutBySnaplen(t *testing.T) {
	whole := capture.Ethernet(segment.IP())
	for n := range whole {
		var d decode.Decoder
		var s decode.Segment
		p := read.Packet{Data: whole[:n], Length: len(whole), Link: 1}
		switch ok := d.Decode(&p, &s); {
		case n < 14+20+20:
			if ok || d.Counts.Cut != 1 {
				t.Errorf("%d bytes: %t, %+v", n, ok, d.Counts)
			}
		case !ok || s.Payload != 100 || int(s.MissingOptions) != max(0, 14+20+44-n):
			t.Errorf("%d bytes: %t, %+v", n, ok, s)
		}
	}
}

// The length field of a segment that an offload made longer than 64 KiB is zero.
func TestOffloadSizedSegments(t *testing.T) {
	data := segment.IP()
	data[2] = 0
	data[3] = 0
	var d decode.Decoder
	var s decode.Segment
	p := read.Packet{Data: data, Length: 20 + 44 + 180_000, Link: 101}
	if !d.Decode(&p, &s) || s.Payload != 180_000 {
		t.Errorf("%+v", s)
	}
}

// A damaged length is at most what the packet had on the wire, whatever of it was captured.
func TestDamagedLengths(t *testing.T) {
	v4 := segment.IP()
	v4[2] = 0xff
	six := segment6
	six.Payload = 100
	v6 := six.IP()
	v6[4] = 0xff
	for _, data := range [][]byte{v4, v6} {
		for _, captured := range []int{len(data), len(data) - 50} {
			var d decode.Decoder
			var s decode.Segment
			p := read.Packet{Data: data[:captured], Length: len(data), Link: 101}
			if !d.Decode(&p, &s) || s.Payload != 100 {
				t.Errorf("%d of %d bytes: %+v", captured, len(data), s)
			}
		}
	}
}

// Fragments count as one segment once all have come, in any order and only once.
func TestFragments(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1}, {1, 1, 0, 2}} {
		var d decode.Decoder
		var s decode.Segment
		parts := segment.Fragments(64)
		for i, k := range order {
			p := read.Packet{Data: parts[k], Length: len(parts[k]), Link: 101}
			if whole := d.Decode(&p, &s); whole != (i == len(order)-1) {
				t.Errorf("order %v: part %d completes it: %t", order, i, whole)
			}
		}
		if s.Payload != 100 || s.Seq != 1000 || d.Counts.Fragments != uint64(len(order)) || d.Counts.TCP != 1 {
			t.Errorf("order %v: %+v, %+v", order, s, d.Counts)
		}
	}
}

// A datagram may come in as many pieces as there are.
func TestManyFragments(t *testing.T) {
	long := segment
	long.Payload = 5000
	parts := long.Fragments(16)
	var d decode.Decoder
	var s decode.Segment
	for i, part := range parts {
		if whole := d.Decode(&read.Packet{Data: part, Length: len(part), Link: 101}, &s); whole != (i == len(parts)-1) {
			t.Fatalf("part %d of %d completes it: %t", i, len(parts), whole)
		}
	}
	if s.Payload != 5000 || len(parts) < 300 {
		t.Errorf("%d bytes in %d parts", s.Payload, len(parts))
	}
}

// Datagrams that stay incomplete take bounded memory.
func TestIncompleteFragmentsAreForgotten(t *testing.T) {
	var d decode.Decoder
	var s decode.Segment
	part := segment.Fragments(64)[0]
	for id := range 1 << 16 {
		part[4] = byte(id >> 8)
		part[5] = byte(id)
		if d.Decode(&read.Packet{Data: part, Length: len(part), Link: 101}, &s) {
			t.Fatal("a part is whole")
		}
	}
	if n := d.Waiting(); n > 1024 {
		t.Errorf("%d datagrams wait", n)
	}
}

func TestOtherPackets(t *testing.T) {
	udp := segment.IP()
	udp[9] = 17
	bad := segment.IP()
	bad[32] = 0x10 // a TCP header of 4 bytes
	var d decode.Decoder
	var s decode.Segment
	for _, p := range []read.Packet{
		{Data: udp, Link: 101}, {Data: bad, Link: 101}, {Data: make([]byte, 60), Link: 1}, {Data: udp, Link: 147},
	} {
		p.Length = len(p.Data)
		if d.Decode(&p, &s) {
			t.Errorf("%v is a segment", p.Data)
		}
	}
	if c := d.Counts; c.Other != 2 || c.Bad != 1 || c.UnknownLink != 1 || c.Packets != 4 {
		t.Errorf("%+v", c)
	}
}

func FuzzDecode(f *testing.F) {
	for _, link := range []uint16{0, 1, 101, 113, 276} {
		f.Add(capture.Ethernet(segment.IP()), link, 1500)
		f.Add(segment6.IP(), link, 0)
		f.Add(segment.Fragments(64)[1], link, 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, link uint16, length int) {
		var d decode.Decoder
		var s decode.Segment
		p := read.Packet{Data: data, Length: max(len(data), min(length, 1<<20)), Link: read.LinkType(link)}
		for range 2 {
			d.Decode(&p, &s)
		}
		if s.Payload > 1<<21 {
			t.Errorf("a payload of %d bytes", s.Payload)
		}
	})
}
