package cell

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/cell/queue"
)

// sum is the Internet checksum of a TCP packet, with its pseudo header: 0 when the one in it is
// right.
func sum(ip []byte) uint16 {
	addresses := ip[12:20]
	transport := ip[20:]
	if ip[0]>>4 == 6 {
		addresses = ip[8:40]
		transport = ip[40:]
	}
	s := uint32(unix.IPPROTO_TCP) + uint32(len(transport))
	for _, part := range [][]byte{addresses, transport} {
		for i, b := range part {
			s += uint32(b) << (8 * (1 - i%2))
		}
	}
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return ^uint16(s)
}

// talk is a connection between two hosts. Its packets cross an access point.
type talk struct {
	w     *windowSharing
	nowNs int64
	six   bool
	ports [2]uint16
	// open leaves the checksums to the device.
	open bool
}

// pass sends a packet from the end 0 or 1 and returns what the access point made of it.
func (c *talk) pass(
	t *testing.T, from int, flags byte, window uint16, options []byte, payload int,
) (advertised uint16) {
	t.Helper()
	segment := tcp(c.ports[from], c.ports[1-from], flags, options, payload)
	binary.BigEndian.PutUint16(segment[14:], window)
	packet := ip4(unix.IPPROTO_TCP, segment)
	at := 20
	if c.six {
		packet = ip6(unix.IPPROTO_TCP, segment)
		at = 40
	}
	source := packet[12:16]
	destination := packet[16:20]
	if c.six {
		source = packet[8:24]
		destination = packet[24:40]
	}
	source[0] = byte(1 + from)
	destination[0] = byte(2 - from)
	before := uint16(0x1234)
	if !c.open {
		before = sum(packet)
	}
	binary.BigEndian.PutUint16(packet[at+16:], before)
	c.w.pass(&queue.Packet{Data: packet, Length: len(packet), ChecksumOpen: c.open}, c.nowNs)
	if after := binary.BigEndian.Uint16(packet[at+16:]); c.open && after != before || !c.open && sum(packet) != 0 {
		t.Errorf("checksum %#x before, %#x behind the access point (left to the device: %t)", before, after, c.open)
	}
	return binary.BigEndian.Uint16(packet[at+14:])
}

func scale(shift byte) []byte { return []byte{2, 4, 5, 180, 1, 3, 3, shift} }

// begin exchanges the SYNs.
func (c *talk) begin(t *testing.T, client, server []byte) {
	t.Helper()
	if got := c.pass(t, 0, tcpSyn, 65535, client, 0); got != 65535 {
		t.Errorf("the window of a SYN, which has no factor, became %d", got)
	}
	c.pass(t, 1, tcpSyn|tcpAck, 65535, server, 0)
}

func TestWindowsAreThePartOfTheQueue(t *testing.T) {
	for _, six := range []bool{false, true} {
		for _, open := range []bool{false, true} {
			t.Run(fmt.Sprintf("IPv6 %t, checksum open %t", six, open), func(t *testing.T) {
				w := newWindowSharing(queue.Limit{Packets: 100})
				one := &talk{w: w, six: six, open: open, ports: [2]uint16{5000, 80}}
				one.begin(t, scale(7), scale(8))
				one.pass(t, 0, tcpAck, 100, nil, 1448)
				if got, want := one.pass(t, 1, tcpAck, 60000, nil, 0), uint16(100*1448>>8); got != want {
					t.Errorf("alone: %d, want %d", got, want)
				}
				if got := one.pass(t, 1, tcpAck, 12, nil, 0); got != 12 {
					t.Errorf("a small window became %d", got)
				}
				two := &talk{w: w, six: six, open: open, ports: [2]uint16{5001, 80}}
				two.begin(t, scale(7), scale(8))
				if got, want := one.pass(t, 1, tcpAck, 60000, nil, 0), uint16(100*1448>>8); got != want {
					t.Errorf("beside one that is silent: %d, want %d", got, want)
				}
				two.pass(t, 0, tcpAck, 100, nil, 1000)
				if got, want := one.pass(t, 1, tcpAck, 60000, nil, 0), uint16(50*1448>>8); got != want {
					t.Errorf("beside one that sends: %d, want %d", got, want)
				}
				if got, want := two.pass(t, 1, tcpAck, 60000, nil, 0), uint16(50*1000>>8); got != want {
					t.Errorf("with small segments: %d, want %d", got, want)
				}
				if got, want := two.pass(t, 0, tcpAck, 60000, nil, 1000), uint16(50*1000>>7); got != want {
					t.Errorf("of the sender itself: %d, want %d", got, want)
				}
				// A second later the other one is silent again.
				one.nowNs = 1.2e9
				one.pass(t, 0, tcpAck, 100, nil, 1448)
				if got, want := one.pass(t, 1, tcpAck, 60000, nil, 0), uint16(100*1448>>8); got != want {
					t.Errorf("alone again: %d, want %d", got, want)
				}
			})
		}
	}
}

func TestWindowsWithoutFactorOrWithoutSYNs(t *testing.T) {
	w := newWindowSharing(queue.Limit{Packets: 10})
	plain := &talk{w: w, ports: [2]uint16{5000, 80}}
	plain.begin(t, scale(7), []byte{2, 4, 5, 180}) // both have to offer it
	plain.pass(t, 0, tcpAck, 60000, nil, 1448)
	if got := plain.pass(t, 1, tcpAck, 60000, nil, 0); got != 14480 {
		t.Errorf("without a factor: %d, want 14480", got)
	}
	if got := plain.pass(t, 1, tcpAck|tcpRst, 60000, nil, 0); got != 60000 {
		t.Errorf("the window of a reset became %d", got)
	}
	unknown := &talk{w: w, ports: [2]uint16{5001, 80}}
	unknown.pass(t, 0, tcpAck, 60000, nil, 1448)
	if got := unknown.pass(t, 1, tcpAck, 60000, nil, 0); got != 60000 {
		t.Errorf("without SYNs: %d, want it left alone", got)
	}
	// However many share, one segment is left to each.
	many := make([]*talk, 20)
	for i := range many {
		many[i] = &talk{w: w, ports: [2]uint16{uint16(6000 + i), 80}}
		many[i].begin(t, scale(7), scale(2))
		many[i].pass(t, 0, tcpAck, 100, nil, 1448)
	}
	if got := many[3].pass(t, 1, tcpAck, 60000, nil, 0); got != 1448>>2 {
		t.Errorf("among many: %d, want one segment", got)
	}
	bytes := &talk{w: newWindowSharing(queue.Limit{Bytes: 50_000}), ports: [2]uint16{5000, 80}}
	bytes.begin(t, scale(7), scale(14))
	bytes.pass(t, 0, tcpAck, 100, nil, 1448)
	if got := bytes.pass(t, 1, tcpAck, 60000, nil, 0); got != 50_000>>14 {
		t.Errorf("a limit in bytes: %d, want %d", got, 50_000>>14)
	}
}

func TestConnectionsAreForgotten(t *testing.T) {
	w := newWindowSharing(queue.Limit{Packets: 100})
	for i := range 3 * maxShared {
		c := &talk{w: w, nowNs: int64(i) * 10e6, ports: [2]uint16{uint16(1 + i), 80}}
		c.begin(t, scale(7), scale(7))
	}
	if n := len(w.connections); n > maxShared {
		t.Errorf("%d connections are remembered", n)
	}
	last := &talk{w: w, nowNs: 3 * maxShared * 10e6, ports: [2]uint16{3 * maxShared, 80}}
	last.pass(t, 0, tcpAck, 100, nil, 1448)
	if got, want := last.pass(t, 1, tcpAck, 60000, nil, 0), uint16(100*1448>>7); got != want {
		t.Errorf("the last one has a window of %d, want %d", got, want)
	}
}

func FuzzWindowSharing(f *testing.F) {
	f.Add(ip4(unix.IPPROTO_TCP, tcp(1, 2, tcpSyn, []byte{3, 3, 200, 0}, 0)))
	f.Add(ip4(unix.IPPROTO_TCP, tcp(1, 2, tcpSyn, []byte{3, 0, 3, 3}, 0)))
	f.Add(ip6(unix.IPPROTO_TCP, tcp(1, 2, tcpAck, nil, 100)))
	f.Fuzz(func(t *testing.T, packet []byte) {
		w := newWindowSharing(queue.Limit{Packets: 1 + rand.IntN(10)})
		for range 2 {
			p := append([]byte{}, packet...)
			w.pass(&queue.Packet{Data: p, Length: len(p)}, 1)
		}
	})
}
