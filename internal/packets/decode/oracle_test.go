package decode_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"airtide/internal/packets/decode"
	"airtide/internal/packets/read"
	"airtide/test/capture"
)

// randomSegment makes a segment with random numbers and options.
func randomSegment(r *rand.Rand, v6 bool) capture.TCP {
	from := netip.MustParseAddr("192.0.2.1")
	to := netip.MustParseAddr("192.0.2.9")
	if v6 {
		from = netip.MustParseAddr("2001:db8::1")
		to = netip.MustParseAddr("2001:db8::9")
	}
	var options []byte
	for _, option := range [][]byte{
		{2, 4, byte(r.Uint32()), byte(r.Uint32())},
		{3, 3, byte(r.IntN(15))},
		{4, 2},
		{1},
		binary.BigEndian.AppendUint64([]byte{8, 10}, r.Uint64()),
		binary.BigEndian.AppendUint64([]byte{5, 10}, r.Uint64()),
	} {
		if r.IntN(2) == 0 {
			options = append(options, option...)
		}
	}
	return capture.TCP{
		From: netip.AddrPortFrom(from, uint16(1024+r.IntN(400))), To: netip.AddrPortFrom(to, uint16(r.IntN(1000))),
		Seq: r.Uint32(), Ack: r.Uint32(), Flags: uint8(r.Uint32()), Window: uint16(r.Uint32()), Options: options,
		Payload: r.IntN(1000),
	}
}

// text formats a segment with the values that an oracle also prints.
func text(s *decode.Segment) string {
	blocks := ""
	for _, b := range s.Blocks[:s.NumBlocks] {
		blocks += fmt.Sprintf(" %d-%d", b.Start, b.End)
	}
	return fmt.Sprintf("%v %v seq %d ack %d flags %#02x window %d bytes %d MSS %d scale %d SACK %t time %t blocks%s",
		s.Key.Endpoint(int(s.From)), s.Key.Endpoint(1-int(s.From)), s.Seq, s.Ack, s.Flags, s.Window, s.Payload, s.MSS,
		s.Scale, s.SACKPermitted, s.Timestamps, blocks)
}

// want is the text of a segment that was made.
func want(t capture.TCP) string {
	var d decode.Decoder
	var s decode.Segment
	ip := t.IP()
	d.Decode(&read.Packet{Data: ip, Length: len(ip), Link: 101}, &s)
	return text(&s)
}

// Headers of any kind around a packet change nothing in its segment, and are named if they are a
// tunnel.
func TestStacks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range stacks {
		for _, v6 := range []bool{false, true} {
			segment := randomSegment(r, v6)
			data := k.wrap(segment.IP())
			var d decode.Decoder
			var s decode.Segment
			if !d.Decode(&read.Packet{Data: data, Length: len(data), Link: k.link}, &s) {
				t.Errorf("%s, IPv6 %t: %+v, %v", k.name, v6, d.Counts, d.Unread())
				continue
			}
			if got := text(&s); got != want(segment) || s.PacketBytes != uint32(len(data)) {
				t.Errorf("%s, IPv6 %t: %s, want %s", k.name, v6, got, want(segment))
			}
			version := "4"
			if v6 {
				version = "6"
			}
			name := strings.ReplaceAll(k.tunnel, "#", version)
			all := d.Tunnels()
			if name == "" && len(all) == 0 {
				continue
			}
			if len(all) != 1 || all[0] != (decode.Tunnel{Name: name, TCP: 1}) {
				t.Errorf("%s, IPv6 %t: tunnels %v, want %q", k.name, v6, all, name)
			}
		}
	}
}

// A stack that was cut anywhere gives a segment or a reason, and reads nothing behind its end.
func TestCutStacks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, k := range stacks {
		segment := randomSegment(r, false)
		data := k.wrap(segment.IP())
		var d decode.Decoder
		var s decode.Segment
		segments := uint64(0)
		for n := range data {
			if d.Decode(&read.Packet{Data: data[:n:n], Length: len(data), Link: k.link}, &s) {
				segments++
			}
		}
		c := d.Counts
		if c.TCP != segments || c.TCP+c.Cut+c.Other != c.Packets || segments == 0 && segment.Payload > 0 {
			t.Errorf("%s: %d segments, %+v, %v", k.name, segments, c, d.Unread())
		}
	}
}

// oracle is the text of the innermost segment that gopacket finds.
func oracle(link read.LinkType, data []byte) string {
	packet := gopacket.NewPacket(data, layers.LinkType(link), gopacket.Default)
	var from, to netip.Addr
	found := ""
	for _, layer := range packet.Layers() {
		switch l := layer.(type) {
		case *layers.IPv4:
			from, _ = netip.AddrFromSlice(l.SrcIP)
			to, _ = netip.AddrFromSlice(l.DstIP)
		case *layers.IPv6:
			from, _ = netip.AddrFromSlice(l.SrcIP)
			to, _ = netip.AddrFromSlice(l.DstIP)
		case *layers.TCP:
			found = oracleText(l, from, to)
		}
	}
	return found
}

func oracleText(l *layers.TCP, from, to netip.Addr) string {
	mss := 0
	scale := -1
	sack := false
	timestamps := false
	blocks := ""
	for _, o := range l.Options {
		switch o.OptionType {
		case layers.TCPOptionKindMSS:
			mss = int(binary.BigEndian.Uint16(o.OptionData))
		case layers.TCPOptionKindWindowScale:
			scale = int(o.OptionData[0])
		case layers.TCPOptionKindSACKPermitted:
			sack = true
		case layers.TCPOptionKindTimestamps:
			timestamps = true
		case layers.TCPOptionKindSACK:
			for b := o.OptionData; len(b) >= 8; b = b[8:] {
				blocks += fmt.Sprintf(" %d-%d", binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]))
			}
		}
	}
	flags := 0
	for bit, is := range []bool{l.FIN, l.SYN, l.RST, l.PSH, l.ACK, l.URG, l.ECE, l.CWR} {
		if is {
			flags |= 1 << bit
		}
	}
	return fmt.Sprintf("%v %v seq %d ack %d flags %#02x window %d bytes %d MSS %d scale %d SACK %t time %t blocks%s",
		netip.AddrPortFrom(from, uint16(l.SrcPort)), netip.AddrPortFrom(to, uint16(l.DstPort)), l.Seq, l.Ack, flags,
		l.Window, len(l.Payload), mss, scale, sack, timestamps, blocks)
}

// Gopacket decodes the same segments from the same frames.
func TestGopacketDecodesTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	compared := 0
	same := map[string]bool{}
	for range 100 {
		for _, k := range stacks {
			segment := randomSegment(r, r.IntN(2) == 0)
			data := k.wrap(segment.IP())
			var d decode.Decoder
			var s decode.Segment
			d.Decode(&read.Packet{Data: bytes.Clone(data), Length: len(data), Link: k.link}, &s)
			got := text(&s)
			want := oracle(k.link, data)
			switch {
			case k.foreign == "" && got != want:
				t.Errorf("%s: %s\ngopacket decodes %s", k.name, got, want)
			case k.foreign == "":
				compared++
			case got == want:
				same[k.name] = true
			}
		}
	}
	for _, k := range stacks {
		if k.foreign != "" && same[k.name] {
			t.Errorf("%s: gopacket decodes it; %q is no reason", k.name, k.foreign)
		}
	}
	if compared < 1500 {
		t.Errorf("%d frames were compared", compared)
	}
}
