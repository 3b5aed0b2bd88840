package engine

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/cell/queue"
)

func TestPacketsAreDescribed(t *testing.T) {
	describe := func(s segment) (p queue.Packet) {
		_, ip := s.build()
		h, ok := parse(append(slices.Clone(ip), 0, 0, 0)) // an Ethernet frame may be padded
		if !ok {
			t.Fatalf("%+v is not understood", s)
		}
		h.describe(&p, ip)
		return p
	}
	for _, c := range []struct {
		name   string
		s      segment
		length int
		ack    bool
	}{
		{"an ACK", segment{flags: tcpAck}, 40, true},
		{"an ACK with options", segment{flags: tcpAck, options: make([]byte, 12), v6: true}, 72, true},
		{"data", segment{flags: tcpAck, payload: payload(1)}, 41, false},
		{"SYN-ACK", segment{flags: tcpAck | tcpSyn}, 40, false},
		{"FIN-ACK", segment{flags: tcpAck | tcpFin}, 40, false},
		{"RST", segment{flags: tcpRst}, 40, false},
		{"UDP", segment{udp: true}, 28, false},
	} {
		if p := describe(c.s); p.Length != c.length || p.Ack != c.ack {
			t.Errorf("%s: length %d, ACK %v, want %d, %v", c.name, p.Length, p.Ack, c.length, c.ack)
		}
	}
	flow := describe(segment{flags: tcpAck}).Flow
	if other := describe(segment{flags: tcpAck, seq: 9, payload: payload(5)}).Flow; other != flow {
		t.Error("two packets of a flow have different flows")
	}
	for name, s := range map[string]segment{
		"another port": {port: 1}, "the way back": {up: true}, "another protocol": {udp: true},
		"another version": {v6: true},
	} {
		if describe(s).Flow == flow {
			t.Errorf("%s gives the same flow", name)
		}
	}
}

func TestTheTransportHeaderIsFoundBehindExtensions(t *testing.T) {
	_, ip := segment{v6: true, flags: tcpAck, payload: payload(10)}.build()
	extension := func(next byte, b ...byte) []byte { return append([]byte{next}, b...) }
	with := func(first byte, b []byte) []byte {
		out := append(slices.Clone(ip[:40]), b...)
		out = append(out, ip[40:]...)
		out[5] = byte(len(out) - 40)
		out[6] = first
		return out
	}
	hop := extension(unix.IPPROTO_TCP, 0, 0, 0, 0, 0, 0, 0)
	h, ok := parse(with(unix.IPPROTO_HOPOPTS, hop))
	if !ok || h.transport != 48 || h.payload != 68 || h.protocol != unix.IPPROTO_TCP || h.fragment {
		t.Errorf("behind hop-by-hop options: %+v, %v", h, ok)
	}
	h, ok = parse(with(unix.IPPROTO_FRAGMENT, hop))
	if !ok || !h.fragment || h.payload != h.transport {
		t.Errorf("a fragment: %+v, %v", h, ok)
	}
	if h, ok := parse(with(unix.IPPROTO_DSTOPTS, extension(unix.IPPROTO_TCP, 255, 0, 0, 0, 0, 0, 0))); ok {
		t.Errorf("options longer than the packet are taken for %+v", h)
	}
}
