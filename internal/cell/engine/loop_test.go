package engine

import (
	"encoding/binary"
	"math"
	"testing"

	"golang.org/x/sys/unix"
)

func TestASuperPacketIsSplitAndJoinedAgain(t *testing.T) {
	for _, c := range []struct {
		name string
		s    segment
		gso  uint8
	}{
		{
			"TCP over IPv4",
			segment{seq: 1<<32 - 3000, flags: tcpAck | tcpPsh, options: make([]byte, 12), payload: payload(20000)},
			unix.VIRTIO_NET_HDR_GSO_TCPV4,
		},
		{
			"TCP over IPv6",
			segment{v6: true, seq: 5, flags: tcpAck | tcpPsh, payload: payload(60000)},
			unix.VIRTIO_NET_HDR_GSO_TCPV6,
		},
		{
			"TCP from the station",
			segment{up: true, seq: 5, flags: tcpAck | tcpPsh, payload: payload(1448 * 7)},
			unix.VIRTIO_NET_HDR_GSO_TCPV4,
		},
		{"UDP over IPv4", segment{udp: true, payload: payload(9999)}, unix.VIRTIO_NET_HDR_GSO_UDP_L4},
		{"UDP over IPv6", segment{udp: true, v6: true, payload: payload(9999)}, unix.VIRTIO_NET_HDR_GSO_UDP_L4},
	} {
		t.Run(c.name, func(t *testing.T) {
			from := "server"
			to := "station"
			if c.s.up {
				from, to = to, from
			}
			v, whole := c.s.build()
			v.gso = c.gso
			v.segmentBytes = 1400
			single := newBench(t, false, lineConfig{})
			single.send(from, v, whole)
			single.carry(from)
			headers, packets := single.receiveAll(to)
			if want := (len(c.s.payload) + 1399) / 1400; len(packets) != want {
				t.Fatalf("%d packets arrived, want %d", len(packets), want)
			}
			var got []byte
			for i, p := range packets {
				h := verify(t, headers[i], p)
				if h.version == 4 && binary.BigEndian.Uint16(p[4:]) != 0x1234+uint16(i) {
					t.Errorf("packet %d has identification %#x", i, p[4:6])
				}
				if !c.s.udp {
					tcp := p[h.transport:]
					if seq := binary.BigEndian.Uint32(tcp[4:]); seq != c.s.seq+uint32(len(got)) {
						t.Errorf("packet %d has sequence number %d", i, seq)
					}
					if last := i == len(packets)-1; (tcp[13]&tcpPsh != 0) != last {
						t.Errorf("packet %d of %d has flags %#x", i, len(packets), tcp[13])
					}
				} else if n := int(binary.BigEndian.Uint16(p[h.transport+4:])); n != len(p)-int(h.transport) {
					t.Errorf("packet %d has a UDP length of %d", i, n)
				}
				got = append(got, p[h.payload:]...)
			}
			if string(got) != string(c.s.payload) {
				t.Error("other bytes arrived than were sent")
			}
			if c.s.udp {
				return
			}
			joined := newBench(t, true, lineConfig{})
			joined.send(from, v, whole)
			joined.carry(from)
			headers, packets = joined.receiveAll(to)
			if len(packets) != 1 || string(packets[0]) != string(whole) || headers[0] != v {
				t.Errorf("%d packets were written, want the one that was read; headers %+v, want %+v", len(packets),
					headers, v)
			}
		})
	}
}

func TestOnlyWhatBelongsTogetherIsJoined(t *testing.T) {
	first := segment{seq: 1000, flags: tcpAck, options: make([]byte, 12), payload: payload(1000)}
	next := first
	next.seq = 2000
	change := func(f func(s *segment)) segment {
		s := next
		f(&s)
		return s
	}
	for _, c := range []struct {
		name string
		then segment
		want int // packets written
	}{
		{"the next segment", next, 1},
		{"a shorter last one", change(func(s *segment) { s.payload = s.payload[:10] }), 1},
		{"one to be pushed", change(func(s *segment) { s.flags |= tcpPsh }), 1},
		{"a longer one", change(func(s *segment) { s.payload = payload(1001) }), 2},
		{"a gap", change(func(s *segment) { s.seq++ }), 2},
		{"another flow", change(func(s *segment) { s.port++ }), 2},
		{"other options", change(func(s *segment) { s.options = []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1} }), 2},
		{"the end of the flow", change(func(s *segment) { s.flags |= tcpFin }), 2},
		{"a mark of congestion", change(func(s *segment) { s.tos = 3 }), 2},
		{"another version", change(func(s *segment) { s.v6 = true }), 2},
		{"an ACK", change(func(s *segment) { s.payload = nil }), 2},
		{"UDP", change(func(s *segment) { s.udp = true }), 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, true, lineConfig{})
			for _, s := range []segment{first, c.then} {
				v, ip := s.build()
				v.headerBytes = 0
				b.send("server", v, ip)
			}
			b.carry("server")
			headers, packets := b.receiveAll("station")
			if len(packets) != c.want {
				t.Errorf("%d packets were written, want %d", len(packets), c.want)
			}
			for i := range packets {
				verify(t, headers[i], packets[i])
			}
			if len(b.pool.free) != len(b.pool.slots) {
				t.Errorf("%d of %d slots came back", len(b.pool.free), len(b.pool.slots))
			}
		})
	}
}

func TestTheLoopDoesNotAllocate(t *testing.T) {
	for _, c := range []struct{ coalesce, withoutPwait2 bool }{{false, false}, {true, false}, {false, true}} {
		coalesce := c.coalesce
		b := newBench(t, coalesce, lineConfig{RateBps: 1e9, Limit: 4})
		b.withoutPwait2 = c.withoutPwait2
		v, whole := segment{up: true, flags: tcpAck, payload: payload(1400 * 20)}.build()
		v.gso = unix.VIRTIO_NET_HDR_GSO_TCPV4
		v.segmentBytes = 1400
		one, single := segment{v6: true, flags: tcpAck, payload: payload(1000)}.build()
		frame := append(make([]byte, virtioBytes+12), 0x08, 0)
		ip := append(make([]byte, virtioBytes), single...)
		v.checksumStart += etherBytes
		v.write(frame)
		one.write(ip)
		frame = append(frame, whole...)
		cycle := func() {
			_, _ = unix.Write(b.devices["station"], frame)
			_, _ = unix.Write(b.devices["server"], ip)
			for first := true; first || len(b.held) > 0 || b.world.Next() < math.MaxInt64; first = false {
				b.wait()
				b.world.Advance(b.now())
				b.resume()
				b.flushAll()
			}
			for _, fd := range b.devices {
				for {
					if _, err := unix.Read(fd, b.read); err != nil {
						break
					}
				}
			}
		}
		cycle()
		before := packetsOut(b)
		if n := testing.AllocsPerRun(50, cycle); n != 0 {
			t.Errorf("coalesced %v: %v allocations per round", coalesce, n)
		}
		if n := packetsOut(b) - before; n != 51*21 {
			t.Errorf("coalesced %v: %d packets left, want 51 rounds of 21", coalesce, n)
		}
		if b.ports[0].counts.Holds == 0 {
			t.Error("the station was never held")
		}
	}
}

// An order can be executed before its wake-up. Then the wake-up wakes the loop once, not for
// ever.
func TestABellOfAnExecutedOrderWakesTheLoopOnce(t *testing.T) {
	for _, withoutPwait2 := range []bool{false, true} {
		b := newBench(t, false, lineConfig{})
		b.withoutPwait2 = withoutPwait2
		b.ring()
		b.wait()
		if n, errno := b.sleep(0); n != 0 || errno != 0 {
			t.Errorf("without epoll_pwait2 %t: %d descriptors are still ready: %v", withoutPwait2, n, errno)
		}
	}
}

func TestACopyForStatusDoesNotAllocate(t *testing.T) {
	b := newBench(t, false, lineConfig{})
	b.copied.counts = make([]PortCounts, len(b.ports))
	if n := testing.AllocsPerRun(100, func() { b.copied.take(b.loop) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func packetsOut(b *bench) (n uint64) {
	for _, p := range b.ports {
		n += p.counts.PacketsOut
	}
	return n
}

// FuzzReceive has devices send what they never should.
func FuzzReceive(f *testing.F) {
	for _, s := range []segment{
		{flags: tcpAck, payload: payload(3000)},
		{v6: true, flags: tcpAck, payload: payload(3000)},
		{udp: true, payload: payload(100)},
	} {
		v, ip := s.build()
		for _, v.gso = range []uint8{0, 1, 4, 5, 3} {
			v.segmentBytes = 1000
			head := make([]byte, virtioBytes)
			v.write(head)
			f.Add(append(head, ip...))
			f.Add(append(head, ip[:len(ip)/2]...))
			f.Add(append(head, ip[:33]...))
			v.segmentBytes = 0
			v.write(head)
			f.Add(append(head, ip...))
		}
	}
	f.Add(make([]byte, virtioBytes))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 1<<16 {
			return
		}
		for _, coalesce := range []bool{false, true} {
			b := newBench(t, coalesce, lineConfig{})
			for _, from := range []string{"server", "station"} {
				if _, err := unix.Write(b.devices[from], data); err != nil {
					t.Fatal(err)
				}
				b.carry(from)
			}
			for _, to := range []string{"server", "station"} {
				_, packets := b.receiveAll(to)
				for _, p := range packets {
					if _, ok := parse(p); !ok {
						t.Errorf("delivered what is no packet: %x", p)
					}
				}
			}
			if len(b.pool.free) != len(b.pool.slots) {
				t.Errorf("%d of %d slots came back", len(b.pool.free), len(b.pool.slots))
			}
		}
	})
}
