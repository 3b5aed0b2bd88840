package cell

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"

	"airtide/internal/cell/queue"
)

// windowSharing is an access point that divides its queue among the TCP connections. It lowers each
// advertised receive window to the queue limit divided by the number of sending connections, but
// not below one segment (Pilosof et al., Understanding TCP Fairness over Wireless LAN, INFOCOM
// 2003).
//
// The window scale (RFC 7323 section 2) is read from a connection's SYNs. Connections without
// observed SYNs are left alone.
type windowSharing struct {
	limit       queue.Limit
	connections map[[2]netip.AddrPort]*sharedConnection
	// sending connections, as they were counted last.
	sending   int
	countedNs int64
	lowered   int64
}

// sharedConnection is a connection through the access point. Its two directions are ordered by
// address.
type sharedConnection struct {
	ways [2]sharedWay
	// segmentBytes is the largest payload of a packet.
	segmentBytes int
	seenNs       int64
	dataNs       int64
	hasSent      bool
}

// sharedWay is one direction of a connection.
type sharedWay struct {
	synchronised, scales bool
	shift                uint8 // scale of the windows that it advertises
}

const (
	// A connection counts as sending for sendingNs after its last data.
	sendingNs = 1e9
	// countEveryNs is the time between two counts of the connections. A count at each packet would
	// cost a pass over all of them.
	countEveryNs = 100e6
	// With maxShared connections, one without a packet for forgetNs makes space for a new one.
	forgetNs  = 10e9
	maxShared = 4096
	// unknownSegment is the assumed payload of a segment before the first data: an Ethernet frame
	// with TCP timestamps.
	unknownSegment = 1448
	// maxShift is the largest shift of the window scale option (RFC 7323 section 2.3).
	maxShift = 14
)

func newWindowSharing(limit queue.Limit) *windowSharing {
	return &windowSharing{limit: limit, connections: map[[2]netip.AddrPort]*sharedConnection{}}
}

// pass lets a packet through and lowers the window that it advertises.
func (w *windowSharing) pass(p *queue.Packet, nowNs int64) {
	s, ok := read(p.Data)
	if !ok || s.protocol != unix.IPPROTO_TCP {
		return
	}
	c, way := w.connection(p.Data, &s, nowNs)
	if c == nil {
		return
	}
	c.seenNs = nowNs
	flags := s.transport[13]
	if flags&tcpSyn != 0 {
		c.ways[way] = synchronised(&s)
		return
	}
	if s.payload > 0 {
		c.segmentBytes = max(c.segmentBytes, s.payload)
		if began := !c.hasSent || nowNs-c.dataNs > sendingNs; began {
			w.countedNs = nowNs - countEveryNs
		}
		c.dataNs = nowNs
		c.hasSent = true
	}
	if flags&tcpAck == 0 || flags&tcpRst != 0 || !c.ways[0].synchronised || !c.ways[1].synchronised {
		return
	}
	if nowNs-w.countedNs >= countEveryNs {
		w.count(nowNs)
	}
	shift := c.ways[way].shift
	if !c.ways[0].scales || !c.ways[1].scales {
		shift = 0
	}
	most := max(w.share(c)>>shift, 1)
	if window := s.transport[14:16]; int(binary.BigEndian.Uint16(window)) > most {
		w.lowered++
		lower(s.transport, uint16(most), p.ChecksumOpen)
	}
}

// share is the number of bytes that a connection may have in flight.
func (w *windowSharing) share(c *sharedConnection) int {
	segment := c.segmentBytes
	if segment == 0 {
		segment = unknownSegment
	}
	n := max(w.sending, 1)
	if w.limit.Packets > 0 {
		return max(w.limit.Packets/n, 1) * segment
	}
	return max(w.limit.Bytes/n, segment)
}

// count counts the connections that carry data.
func (w *windowSharing) count(nowNs int64) {
	w.sending = 0
	w.countedNs = nowNs
	for _, c := range w.connections {
		if c.hasSent && nowNs-c.dataNs <= sendingNs {
			w.sending++
		}
	}
}

// connection returns the connection of a packet and the packet's direction. It returns nil if the
// connection is not tracked.
func (w *windowSharing) connection(ip []byte, s *segment, nowNs int64) (c *sharedConnection, way int) {
	from, to := ends(ip)
	key := [2]netip.AddrPort{
		netip.AddrPortFrom(from, binary.BigEndian.Uint16(s.transport)),
		netip.AddrPortFrom(to, binary.BigEndian.Uint16(s.transport[2:])),
	}
	if key[0].Compare(key[1]) > 0 {
		key[0], key[1] = key[1], key[0]
		way = 1
	}
	c = w.connections[key]
	// The window scale is known only from SYNs.
	if c == nil && s.transport[13]&tcpSyn != 0 {
		if len(w.connections) >= maxShared {
			w.forget(nowNs)
		}
		if len(w.connections) < maxShared {
			c = &sharedConnection{}
			w.connections[key] = c
		}
	}
	return c, way
}

func (w *windowSharing) forget(nowNs int64) {
	for key, c := range w.connections {
		if nowNs-c.seenNs > forgetNs {
			delete(w.connections, key)
		}
	}
}

// synchronised reads the window scale option of a SYN.
func synchronised(s *segment) sharedWay {
	way := sharedWay{synchronised: true}
	for options := s.transport[20 : len(s.transport)-s.payload]; len(options) > 0; {
		switch kind := options[0]; {
		case kind == optionEnd:
			return way
		case kind == optionNothing:
			options = options[1:]
		case len(options) < 2 || options[1] < 2 || int(options[1]) > len(options):
			return way
		default:
			if kind == optionWindowScale && options[1] == 3 {
				way.scales = true
				way.shift = min(options[2], maxShift)
			}
			options = options[options[1]:]
		}
	}
	return way
}

// lower writes a window into a TCP header and mends the checksum for it (RFC 1624 equation 3). A
// checksum that the device is to complete does not have the header in it yet.
func lower(header []byte, window uint16, checksumOpen bool) {
	before := binary.BigEndian.Uint16(header[14:])
	binary.BigEndian.PutUint16(header[14:], window)
	if checksumOpen {
		return
	}
	sum := uint32(^binary.BigEndian.Uint16(header[16:])) + uint32(^before) + uint32(window)
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(header[16:], ^uint16(sum))
}
