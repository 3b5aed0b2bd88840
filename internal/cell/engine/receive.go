package engine

import (
	"encoding/binary"
	"math"
	"syscall"

	"golang.org/x/sys/unix"
)

// readBudget is the number of packets that are read from one port before the next port's turn.
const readBudget = 64

// receive reads a port until it is empty, its turn is over or the station's queue is full.
func (l *loop) receive(p *port) {
	if !l.enterWaiting(p) {
		return
	}
	for range readBudget {
		if l.full(p) {
			l.hold(p)
			return
		}
		s := l.pool.take()
		into := s
		if s == nil {
			into = &l.spare // read and thrown away, or epoll would report it for ever
		}
		var n int
		var errno syscall.Errno
		if p.super {
			n, errno = p.readSuper(into, l.buffer)
		} else {
			n, errno = p.read(into)
		}
		if errno != 0 {
			if s != nil {
				l.pool.give(s)
			}
			if errno == unix.EINTR {
				continue
			}
			if errno != unix.EAGAIN {
				l.fail(p, errno)
			}
			l.release(p)
			return
		}
		if s == nil {
			l.pool.exhausted++
			if p.credit != nil && l.spare.memory[headroom-etherBytes]&1 == 0 {
				p.credit.taken++
			}
			continue
		}
		l.accept(p, s, n)
	}
	// There may be more, and epoll shall say so.
	if len(p.waiting) == 0 {
		l.release(p)
	}
}

// full reports whether a station has to keep its packets. An Outside host cannot be blocked: the
// world drops packets that its queue cannot take.
func (l *loop) full(p *port) bool { return p.Kind == Station && l.world.Room(p.Station) <= 0 }

// hold leaves a port unread until its station's queue has room.
func (l *loop) hold(p *port) {
	if p.held {
		return
	}
	p.held = true
	p.counts.Holds++
	l.held = append(l.held, p)
	l.watch(p, 0)
}

// release has epoll report the port again.
func (l *loop) release(p *port) {
	if !p.held {
		return
	}
	p.held = false
	for i, other := range l.held {
		if other == p {
			l.held[i] = l.held[len(l.held)-1]
			l.held = l.held[:len(l.held)-1]
			break
		}
	}
	l.watch(p, unix.EPOLLIN)
}

// resume reads the blocked ports whose queue has room again.
func (l *loop) resume() {
	for i := len(l.held) - 1; i >= 0; i-- {
		if p := l.held[i]; !l.full(p) {
			l.receive(p)
		}
	}
}

// enterWaiting pushes the rest of an offload-sized packet and reports whether all of it has
// entered.
func (l *loop) enterWaiting(p *port) bool {
	for i, s := range p.waiting {
		if l.full(p) {
			p.waiting = p.waiting[:copy(p.waiting, p.waiting[i:])]
			l.hold(p)
			return false
		}
		l.enter(p, s)
	}
	p.waiting = p.waiting[:0]
	return true
}

// accept handles a packet of n bytes, counted from the virtio header.
func (l *loop) accept(p *port, s *slot, n int) {
	at := headroom - p.ether - virtioBytes
	n -= virtioBytes + p.ether
	if n <= 0 {
		p.counts.Malformed++
		l.pool.give(s)
		return
	}
	v := readVirtio(s.memory[at:])
	if p.ether != 0 && !l.acceptFrame(p, s, n) {
		l.pool.give(s)
		return
	}
	if v.gso != unix.VIRTIO_NET_HDR_GSO_NONE {
		l.split(p, s, n, v)
		return
	}
	if p.credit != nil {
		p.credit.taken++
	}
	if n > maxMTU {
		p.counts.Malformed++
		l.pool.give(s)
		return
	}
	var ok bool
	s.header, ok = parse(s.ip(n))
	if !ok || int(s.header.length) > p.mtu() {
		p.counts.Malformed++
		l.pool.give(s)
		return
	}
	s.checksumStart = 0
	s.checksumOffset = 0
	if v.flags&unix.VIRTIO_NET_HDR_F_NEEDS_CSUM != 0 && int(v.checksumStart) >= p.ether {
		s.checksumStart = v.checksumStart - uint16(p.ether)
		s.checksumOffset = v.checksum
	}
	l.take(p, s)
}

// acceptFrame reports whether the frame in the slot carries an IP packet for the cell.
func (l *loop) acceptFrame(p *port, s *slot, n int) bool {
	frame := s.memory[headroom-etherBytes:]
	kind := binary.BigEndian.Uint16(frame[12:])
	if p.outside != nil {
		return l.acceptOutside(p, frame[:etherBytes+min(n, maxMTU)], kind)
	}
	// Other frames are multicast of an IPv6 host to its neighbours. Neither the credit nor the
	// world counts them.
	return frame[0]&1 == 0 && (kind == etherIP4 || kind == etherIP6)
}

// take finds the packet's way and lets it enter, or wait.
func (l *loop) take(p *port, s *slot) {
	to := l.routes.find(s.header.destination(s.ip(int(s.header.length))))
	// Packets from one server to another do not cross the cell.
	if to == nil || to == p || (p.Station < 0 && to.Station < 0) {
		p.counts.Unroutable++
		l.pool.give(s)
		return
	}
	s.to = to
	if len(p.waiting) > 0 || l.full(p) {
		p.waiting = append(p.waiting, s)
		l.hold(p)
		return
	}
	l.enter(p, s)
}

// enter pushes a packet into the world at the time it is now.
func (l *loop) enter(p *port, s *slot) {
	now := l.now()
	if l.world.Next() <= now {
		l.world.Advance(now)
	}
	s.header.describe(&s.packet, s.ip(int(s.header.length)))
	s.packet.ChecksumOpen = s.checksumStart != 0
	s.packet.EnteredNs = now
	s.packet.Station = p.Station
	s.packet.Up = true
	if p.Station < 0 {
		s.packet.Station = s.to.Station
		s.packet.Up = false
	}
	p.counts.PacketsIn++
	p.counts.BytesIn += uint64(s.packet.Length)
	s.under = true
	l.world.Push(&s.packet, now)
}

// split divides an offload-sized packet of n bytes into segments. The first bytes are in the slot,
// the others in the buffer. The segments are those of the kernel (tcp_gso_segment in
// net/ipv4/tcp_offload.c, __udp_gso_segment).
func (l *loop) split(p *port, s *slot, n int, v virtio) {
	copy(l.buffer[headroom:slotBytes], s.memory[headroom:]) // in front of the rest
	l.pool.give(s)
	whole := l.buffer[headroom:]
	h, ok := parse(whole[:min(n, len(whole))])
	segment := int(v.segmentBytes)
	tcp := v.gso == unix.VIRTIO_NET_HDR_GSO_TCPV4 || v.gso == unix.VIRTIO_NET_HDR_GSO_TCPV6
	want := uint8(unix.IPPROTO_UDP)
	if tcp {
		want = unix.IPPROTO_TCP
	}
	if !ok || h.fragment || h.protocol != want || (!tcp && v.gso != unix.VIRTIO_NET_HDR_GSO_UDP_L4) ||
		segment == 0 || int(h.payload)+segment > p.mtu() {
		p.counts.Malformed++
		return
	}
	data := whole[h.payload:h.length]
	count := (len(data) + segment - 1) / segment
	if p.credit != nil {
		p.credit.taken += uint64(max(count, 1))
	}
	for i := range count {
		s := l.pool.take()
		if s == nil {
			l.pool.exhausted += uint64(count - i)
			return
		}
		part := data[i*segment : min((i+1)*segment, len(data))]
		h.cut(s, whole[:h.payload], part, i, i == count-1, i*segment)
		l.take(p, s)
	}
}

// cut writes one segment of an offload-sized packet. Its headers are those of the whole packet with
// adjusted length, sequence number, flags and checksum.
func (h *header) cut(s *slot, headers, part []byte, number int, last bool, offset int) {
	n := len(headers) + len(part)
	ip := s.ip(n)
	copy(ip, headers)
	copy(ip[len(headers):], part)
	s.header = *h
	if h.version == 4 {
		binary.BigEndian.PutUint16(ip[4:], binary.BigEndian.Uint16(ip[4:])+uint16(number))
	}
	s.header.setLength(ip, n)
	transport := ip[h.transport:]
	s.checksumStart = h.transport
	if h.protocol == unix.IPPROTO_TCP {
		s.checksumOffset = 16
		binary.BigEndian.PutUint32(transport[4:], binary.BigEndian.Uint32(transport[4:])+uint32(offset))
		if number > 0 {
			transport[13] &^= tcpCwr
		}
		if !last {
			transport[13] &^= tcpFin | tcpPsh
		}
	} else {
		s.checksumOffset = 6
		binary.BigEndian.PutUint16(transport[4:], uint16(len(transport)))
	}
	binary.BigEndian.PutUint16(transport[s.checksumOffset:], h.pseudoSum(ip, len(transport)))
}

// grant tells the program at the station's device how many packets may enter: the packets read so
// far and the room in the queue.
func (l *loop) grant(p *port) {
	room := l.world.Room(p.Station) - len(p.waiting)
	p.credit.allow(p.credit.taken + uint64(min(max(room, 0), math.MaxInt32)))
}
