package cell

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/cell/queue"
)

// ip4 and ip6 return packets. Their headers have only the fields that are read here.
func ip4(protocol byte, transport []byte) []byte {
	b := append(make([]byte, 20), transport...)
	b[0] = 0x45
	b[9] = protocol
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	return b
}

func ip6(protocol byte, transport []byte) []byte {
	b := append(make([]byte, 40), transport...)
	b[0] = 0x60
	b[6] = protocol
	binary.BigEndian.PutUint16(b[4:], uint16(len(transport)))
	return b
}

func tcp(from, to uint16, flags byte, options []byte, payload int) []byte {
	b := append(make([]byte, 20), options...)
	binary.BigEndian.PutUint16(b, from)
	binary.BigEndian.PutUint16(b[2:], to)
	binary.BigEndian.PutUint32(b[8:], 4711)
	b[12] = byte(len(b)/4) << 4
	b[13] = flags
	return append(b, make([]byte, payload)...)
}

func udp(from, to uint16, payload int) []byte {
	b := make([]byte, 8+payload)
	binary.BigEndian.PutUint16(b, from)
	binary.BigEndian.PutUint16(b[2:], to)
	return b
}

func TestOnlyAcknowledgementsThatTellNothingElseAreThinned(t *testing.T) {
	const ack = 1 << 4
	timestamps := []byte{1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}
	sack := []byte{1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2}
	withAE := tcp(1, 2, ack, timestamps, 0)
	withAE[12] |= 1
	for _, c := range []struct {
		what    string
		segment []byte
		want    bool
	}{
		{"plain", tcp(1, 2, ack, nil, 0), true},
		{"timestamps", tcp(1, 2, ack, timestamps, 0), true},
		{"SACK", tcp(1, 2, ack, sack, 0), false},
		{"timestamps and SACK", tcp(1, 2, ack, append(append([]byte{}, timestamps...), sack...), 0), false},
		{"ECN echo", tcp(1, 2, ack|1<<6, timestamps, 0), false},
		{"window reduced", tcp(1, 2, ack|1<<7, timestamps, 0), false},
		{"AccECN", withAE, false},
		{"urgent", tcp(1, 2, ack|1<<5, nil, 0), false},
		{"an option cut off", tcp(1, 2, ack, []byte{1, 1, 8, 10}, 0), false},
		{"end of options", tcp(1, 2, ack, []byte{0, 5, 5, 5}, 0), true},
	} {
		for _, packet := range [][]byte{ip4(unix.IPPROTO_TCP, c.segment), ip6(unix.IPPROTO_TCP, c.segment)} {
			if number, ok := acknowledges(packet); ok != c.want || ok && number != 4711 {
				t.Errorf("%s: %t with number %d, want %t", c.what, ok, number, c.want)
			}
		}
	}
}

func TestPacketsAreCountedWithTheirFlow(t *testing.T) {
	fragment := ip4(unix.IPPROTO_UDP, udp(9, 80, 100))
	fragment[7] = 1
	echo := func(kind byte) []byte { return append([]byte{kind}, make([]byte, 63)...) }
	for _, c := range []struct {
		what             string
		packet           []byte
		flow             int // -1 for none
		forward, reverse int64
	}{
		{"to the port", ip4(unix.IPPROTO_TCP, tcp(5000, 80, 0, make([]byte, 12), 1448)), 0, 1448, 0},
		{"from the port", ip4(unix.IPPROTO_TCP, tcp(80, 5000, 0, make([]byte, 12), 700)), 0, 0, 700},
		{"to the port in IPv6", ip6(unix.IPPROTO_TCP, tcp(5000, 80, 0, nil, 1000)), 0, 1000, 0},
		{"datagram", ip4(unix.IPPROTO_UDP, udp(5000, 53, 33)), 1, 33, 0},
		{"between two flows' ports", ip4(unix.IPPROTO_UDP, udp(80, 53, 33)), 1, 33, 0},
		{"request", ip4(unix.IPPROTO_ICMP, echo(8)), 2, 56, 0},
		{"reply", ip4(unix.IPPROTO_ICMP, echo(0)), 2, 0, 56},
		{"request in IPv6", ip6(unix.IPPROTO_ICMPV6, echo(128)), 2, 56, 0},
		{"reply in IPv6", ip6(unix.IPPROTO_ICMPV6, echo(129)), 2, 0, 56},
		{"unreachable", ip4(unix.IPPROTO_ICMP, echo(3)), -1, 0, 0},
		{"another port", ip4(unix.IPPROTO_TCP, tcp(5000, 81, 0, nil, 10)), -1, 0, 0},
		{"port 0", ip4(unix.IPPROTO_UDP, udp(5000, 0, 10)), -1, 0, 0},
		{"from port 0", ip4(unix.IPPROTO_UDP, udp(0, 5000, 10)), -1, 0, 0},
		{"fragment", fragment, -1, 0, 0},
		{"another protocol", ip4(unix.IPPROTO_SCTP, udp(5000, 80, 10)), -1, 0, 0},
		{"nothing", nil, -1, 0, 0},
	} {
		flows := newFlowTable(
			&Config{Flows: []Flow{{Name: "web", Port: 80}, {Name: "names", Port: 53}, {Name: "echo"}}},
		)
		flows.count(&queue.Packet{Data: c.packet, Length: len(c.packet)})
		for i, f := range flows.counts {
			want := FlowStatus{Name: f.Name}
			if i == c.flow && c.forward > 0 {
				want.Forward = Delivered{1, c.forward}
			}
			if i == c.flow && c.reverse > 0 {
				want.Reverse = Delivered{1, c.reverse}
			}
			if f != want {
				t.Errorf("%s: flow %d counted %+v, want %+v", c.what, i, f, want)
			}
		}
	}
}

func FuzzSegment(f *testing.F) {
	f.Add(ip4(unix.IPPROTO_TCP, tcp(1, 2, 16, []byte{1, 1, 8, 10}, 0)))
	f.Add(ip6(unix.IPPROTO_UDP, udp(1, 2, 3)))
	flows := newFlowTable(&Config{Flows: []Flow{{Name: "all", Port: 1}, {Name: "echo"}}})
	f.Fuzz(func(t *testing.T, packet []byte) {
		acknowledges(packet)
		flows.count(&queue.Packet{Data: packet})
		if s, ok := read(packet); ok && (s.payload < 0 || s.payload > len(packet)) {
			t.Errorf("%d bytes of payload in a packet of %d", s.payload, len(packet))
		}
	})
}
