package engine

import (
	"encoding/binary"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"airtide/internal/cell/queue"
)

// deliver writes a packet that leaves the world to the port that it is for.
func (l *loop) deliver(p *queue.Packet, atNs int64) {
	s := l.leave(p)
	s.dueNs = atNs
	if l.coalesce {
		l.add(s.to, s)
		return
	}
	l.write(s.to, s)
}

// drop takes a packet back that the world has lost.
func (l *loop) drop(p *queue.Packet, at queue.Place, _ int64) {
	l.dropped[at]++
	l.pool.give(l.leave(p))
}

func (l *loop) leave(p *queue.Packet) *slot {
	s := slotOf(p)
	if !s.under {
		panic("engine: a packet has left the world twice")
	}
	s.under = false
	return s
}

// write writes one packet and takes its slot back.
func (l *loop) write(p *port, s *slot) {
	l.lag.record(l.now() - s.dueNs)
	if to, ok := l.hardware(p, s); ok {
		p.count(p.write(s, p.virtio(s), to), 1, s.packet.Length)
	}
	l.pool.give(s)
}

func (p *port) count(errno syscall.Errno, packets, bytes int) {
	if errno != 0 {
		p.counts.WriteFailed += uint64(packets)
		return
	}
	p.counts.PacketsOut += uint64(packets)
	p.counts.BytesOut += uint64(bytes)
}

// hardware is the Ethernet address to send to.
func (l *loop) hardware(p *port, s *slot) (mac, bool) {
	if p.outside == nil {
		return p.host, true
	}
	return l.resolve(p, s.header.destination(s.packet.Data))
}

// gather holds segments of one flow that follow each other and are written as one super-packet.
type gather struct {
	slots [maxGather]*slot
	n     int
	bytes int // payload
	dirty bool
}

const (
	maxGather      = 64
	maxGatherBytes = 65000 // an IP packet with its headers is less than 64 KiB
)

// add lets a packet wait for others until flush, or until one comes that does not follow it.
func (l *loop) add(p *port, s *slot) {
	g := &p.gather
	if g.n > 0 && !g.continues(s) {
		l.flush(p)
	}
	if g.n == 0 && !joins(s) {
		l.write(p, s)
		return
	}
	g.slots[g.n] = s
	g.n++
	g.bytes += s.payloadBytes()
	if !g.dirty {
		g.dirty = true
		l.dirty = append(l.dirty, p)
	}
	// A short segment or a segment with PSH ends the packet.
	if g.n == maxGather || s.payloadBytes() < g.slots[0].payloadBytes() || s.tcp()[13]&tcpPsh != 0 {
		l.flush(p)
	}
}

func (s *slot) payloadBytes() int { return int(s.header.length - s.header.payload) }

func (s *slot) tcp() []byte { return s.packet.Data[s.header.transport:] }

// joins reports whether a packet may become part of an offload-sized packet: TCP data with an
// incomplete checksum, without flags and IP options that concern this segment alone.
func joins(s *slot) bool {
	h := &s.header
	return h.protocol == unix.IPPROTO_TCP && !h.fragment && s.checksumStart == h.transport && h.payload < h.length &&
		(h.version == 4 && h.transport == 20 || h.version == 6 && h.transport == 40) &&
		s.tcp()[13]&^tcpPsh == tcpAck
}

// continues reports whether a packet follows the last gathered packet and differs in nothing but
// its sequence number.
func (g *gather) continues(s *slot) bool {
	first := g.slots[0]
	if !joins(s) || s.header.version != first.header.version || s.header.payload != first.header.payload ||
		s.payloadBytes() > first.payloadBytes() || g.bytes+s.payloadBytes() > maxGatherBytes {
		return false
	}
	a := first.packet.Data
	b := s.packet.Data
	if s.header.version == 4 {
		// Without length, identification and checksum.
		if a[1] != b[1] || string(a[6:10]) != string(b[6:10]) || string(a[12:20]) != string(b[12:20]) {
			return false
		}
	} else if string(a[:4]) != string(b[:4]) || string(a[6:40]) != string(b[6:40]) {
		return false
	}
	x := first.tcp()
	y := s.tcp()
	n := int(s.header.payload - s.header.transport)
	return string(x[:4]) == string(y[:4]) && // ports
		binary.BigEndian.Uint32(x[4:])+uint32(g.bytes) == binary.BigEndian.Uint32(y[4:]) &&
		string(x[8:13]) == string(y[8:13]) && string(x[14:16]) == string(y[14:16]) && // acknowledgement, length, window
		string(x[18:n]) == string(y[18:n]) // urgent pointer, options
}

// flush writes the gathered packets of a port.
func (l *loop) flush(p *port) {
	g := &p.gather
	n := g.n
	if n == 0 {
		return
	}
	g.n = 0
	if n == 1 {
		g.bytes = 0
		l.write(p, g.slots[0])
		return
	}
	first := g.slots[0]
	if to, ok := l.hardware(p, first); ok {
		p.count(p.writeSuper(g.slots[:n], &l.iov, to), n, g.bytes+n*int(first.header.payload))
	}
	g.bytes = 0
	now := l.now()
	for _, s := range g.slots[:n] {
		l.lag.record(now - s.dueNs)
		l.pool.give(s)
	}
}

// writeSuper writes segments as one super-packet: the first with its headers changed, then the
// payload of the others.
func (p *port) writeSuper(slots []*slot, iov *[maxGather]unix.Iovec, to mac) syscall.Errno {
	first := slots[0]
	last := slots[len(slots)-1]
	segment := first.payloadBytes()
	total := int(first.header.length)
	for _, s := range slots[1:] {
		total += s.payloadBytes()
	}
	h := &first.header
	ip := first.packet.Data
	v := virtio{
		flags: unix.VIRTIO_NET_HDR_F_NEEDS_CSUM, gso: unix.VIRTIO_NET_HDR_GSO_TCPV4,
		headerBytes: uint16(p.ether) + h.payload, segmentBytes: uint16(segment),
		checksumStart: uint16(p.ether) + h.transport, checksum: 16,
	}
	if h.version == 6 {
		v.gso = unix.VIRTIO_NET_HDR_GSO_TCPV6
	}
	tcp := first.tcp()
	tcp[13] |= last.tcp()[13] & tcpPsh
	h.setLength(ip, total)
	binary.BigEndian.PutUint16(tcp[16:], h.pseudoSum(ip, total-int(h.transport)))
	at := p.frame(first, v, to)
	iov[0].Base = &first.memory[at]
	iov[0].SetLen(headroom - at + int(h.payload) + segment)
	for i, s := range slots[1:] {
		iov[i+1].Base = &s.packet.Data[s.header.payload]
		iov[i+1].SetLen(s.payloadBytes())
	}
	_, _, errno := unix.RawSyscall(unix.SYS_WRITEV, uintptr(p.fd), uintptr(unsafe.Pointer(iov)), uintptr(len(slots)))
	return errno
}

// flushAll writes the gathered packets of all ports. It is called once in each turn of the loop, so
// that packets read in one turn are gathered too.
func (l *loop) flushAll() {
	for _, p := range l.dirty {
		p.gather.dirty = false
		l.flush(p)
	}
	l.dirty = l.dirty[:0]
}
