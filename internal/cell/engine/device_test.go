package engine

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bench is a loop whose ports end in sockets that keep the bounds of packets, so that a test is its
// devices.
type bench struct {
	*loop
	tb      testing.TB
	devices map[string]int
	read    []byte
}

func newBench(tb testing.TB, coalesce bool, l lineConfig) *bench {
	tb.Helper()
	b := &bench{
		tb: tb, devices: map[string]int{}, read: make([]byte, 1<<17),
		loop: &loop{coalesce: coalesce, start: time.Now(), done: make(chan struct{}, 1)},
	}
	world, err := json.Marshal(l)
	if err != nil {
		tb.Fatal(err)
	}
	b.world, err = buildLine(world, b.callbacks())
	if err != nil {
		tb.Fatal(err)
	}
	for i, p := range pair(l).Ports {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { unix.Close(pair[0]); unix.Close(pair[1]) })
		ether := 0
		if p.Kind == Station {
			ether = etherBytes
		}
		b.devices[p.Name] = pair[1]
		b.ports = append(b.ports, &port{Port: p, index: i, fd: pair[0], ether: ether, super: true})
	}
	b.routes, err = newRoutes(b.ports)
	if err != nil {
		tb.Fatal(err)
	}
	b.pool, err = newPool(1024)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = unix.Munmap(b.pool.memory) })
	if err := b.open(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(b.loop.close)
	return b
}

// send lets a device send an IP packet.
func (b *bench) send(from string, v virtio, ip []byte) {
	frame := make([]byte, virtioBytes)
	if from == "station" {
		frame = append(frame, make([]byte, 12)...)
		frame = append(frame, 0x08, 0)
		if ip[0]>>4 == 6 {
			copy(frame[len(frame)-2:], []byte{0x86, 0xdd})
		}
		v.checksumStart += etherBytes
		v.headerBytes += etherBytes
	}
	v.write(frame)
	if _, err := unix.Write(b.devices[from], append(frame, ip...)); err != nil {
		b.tb.Fatal(err)
	}
}

// carry reads the port and lets everything leave that is due.
func (b *bench) carry(from string) {
	for _, p := range b.ports {
		if p.Name == from {
			b.receive(p)
		}
	}
	b.world.Advance(1 << 60)
	b.flushAll()
}

// receiveAll reads all packets that wait at a device.
func (b *bench) receiveAll(at string) (headers []virtio, packets [][]byte) {
	for {
		n, err := unix.Read(b.devices[at], b.read)
		if errors.Is(err, unix.EAGAIN) {
			return headers, packets
		}
		if err != nil {
			b.tb.Fatal(err)
		}
		v := readVirtio(b.read)
		ip := slices.Clone(b.read[virtioBytes:n])
		if at == "station" {
			ip = ip[etherBytes:]
			if v.flags != 0 {
				v.checksumStart -= etherBytes
			}
			if v.gso != 0 {
				v.headerBytes -= etherBytes
			}
		}
		headers = append(headers, v)
		packets = append(packets, ip)
	}
}

// segment describes a packet to make.
type segment struct {
	v6      bool
	udp     bool
	up      bool // from the station to the server
	seq     uint32
	flags   byte
	options []byte
	payload []byte
	port    uint16
	tos     byte
}

// build makes the IP packet, its transport checksum left to the device.
func (s segment) build() (v virtio, ip []byte) {
	a := "10.88.1.1"
	b := "10.88.0.1"
	if s.v6 {
		a = "fd88:1::1"
		b = "fd88::1"
	}
	if s.up {
		a, b = b, a
	}
	source := netip.MustParseAddr(a).AsSlice()
	destination := netip.MustParseAddr(b).AsSlice()
	var transport []byte
	protocol := byte(unix.IPPROTO_TCP)
	offset := uint16(16)
	if s.udp {
		protocol = unix.IPPROTO_UDP
		offset = 6
		transport = binary.BigEndian.AppendUint16(nil, 1000+s.port)
		transport = append(transport, 0, 80)
		transport = binary.BigEndian.AppendUint16(transport, uint16(8+len(s.payload)))
		transport = append(transport, 0, 0)
	} else {
		transport = binary.BigEndian.AppendUint16(nil, 1000+s.port)
		transport = append(transport, 0, 80)
		transport = binary.BigEndian.AppendUint32(transport, s.seq)
		transport = append(transport, 0, 0, 0, 7, byte(5+len(s.options)/4)<<4, s.flags, 1, 0, 0, 0, 0, 0)
		transport = append(transport, s.options...)
	}
	headerBytes := len(transport)
	transport = append(transport, s.payload...)
	h := header{version: 4, protocol: protocol}
	if s.v6 {
		h.version = 6
		ip = append([]byte{0x60 | s.tos>>4, s.tos << 4, 0, 0, 0, 0, protocol, 64}, source...)
	} else {
		ip = append([]byte{0x45, s.tos, 0, 0, 0x12, 0x34, 0x40, 0, 64, protocol, 0, 0}, source...)
	}
	ip = append(append(ip, destination...), transport...)
	start := len(ip) - len(transport)
	h.setLength(ip, len(ip))
	binary.BigEndian.PutUint16(ip[start+int(offset):], h.pseudoSum(ip, len(transport)))
	return virtio{
		flags: unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, checksumStart: uint16(start), checksum: offset,
		headerBytes: uint16(start + headerBytes),
	}, ip
}

// verify completes the checksum as a device does and fails the test when a receiver would not take
// the packet.
func verify(tb testing.TB, v virtio, ip []byte) header {
	tb.Helper()
	h, ok := parse(ip)
	if !ok || int(h.length) != len(ip) {
		tb.Fatalf("not a whole packet: %x", ip[:min(len(ip), 60)])
	}
	if h.version == 4 && fold(sum16(ip[:20], 0)) != 0xffff {
		tb.Errorf("the header's checksum is wrong: %x", ip[:20])
	}
	transport := slices.Clone(ip[h.transport:])
	sum := ^fold(sum16(transport, 0))
	binary.BigEndian.PutUint16(transport[v.checksum:], sum)
	if got := fold(sum16(transport, uint32(h.pseudoSum(ip, len(transport))))); got != 0xffff {
		tb.Errorf("the transport's checksum is wrong: %#x", got)
	}
	return h
}

func payload(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(b)
	return b
}
