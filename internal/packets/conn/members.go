package conn

import (
	"encoding/binary"

	"airtide/internal/packets/decode"
)

// membership is the reader's state of an open connection.
type membership struct {
	key          decode.Key
	client       uint8     // end of key
	ends         [2]origin // in the order of key
	closed       bool      // had a RST, or FINs of both ends
	lastNs       int64     // time of the last packet
	lastPacket   uint64
	worker       int
	newer, older *connection // neighbours in the queue of open or closed connections, by last packet
	gone         bool
}

// origin is the reader's state of one end.
type origin struct {
	begun bool   // sent a segment
	syn   bool   // sent a SYN
	spoke bool   // sent a segment that is neither SYN nor RST
	fin   bool   // sent a FIN
	start uint32 // number of the first byte: behind the SYN, or of the first segment
	next  uint32 // behind the highest byte
	acked bool   // sent an ACK
	ack   uint32 // the first acknowledged number
}

// members finds the connection of a segment. It knows all open connections.
type members struct {
	byKey   map[decode.Key]*connection
	cache   [cacheSize]*connection
	open    queue
	closed  queue
	count   uint64
	maxOpen int
	workers int
	// end is called with a connection that ends before the capture does.
	end func(*connection)
	// forgotten counts connections that ended because too many were open.
	forgotten uint64
}

const (
	cacheSize = 1 << 10
	// quietNs is a silence behind the end of a connection. No segment is under way for so long, so
	// the next one may be of another connection with the same ports.
	quietNs = 120e9
	// nearBytes is the distance of sequence numbers within which a segment behind a silence still
	// belongs to a closed connection. An arbitrary number is so near once in 2048 times.
	nearBytes = 1 << 20
)

func slot(k *decode.Key) uint32 {
	h := uint32(k.Port[0])<<16 | uint32(k.Port[1])
	h ^= binary.LittleEndian.Uint32(k.Address[0][:]) * 31
	h ^= binary.LittleEndian.Uint32(k.Address[1][:]) * 17
	h *= 0x9e3779b1
	return h >> (32 - 10)
}

// find returns the connection of a segment, which may be new, and the end that sent it: 0 for the
// client, 1 for the server.
func (m *members) find(s *decode.Segment) (*connection, int) {
	at := slot(&s.Key)
	c := m.cache[at]
	if c == nil || c.gone || c.key != s.Key {
		c = m.byKey[s.Key]
	}
	if c != nil && !c.owns(s) {
		m.remove(c)
		c = nil
	}
	if c == nil {
		c = m.add(s)
	}
	m.cache[at] = c
	c.membership.note(s)
	m.touch(c, s)
	return c, int(s.From ^ c.client)
}

// owns reports whether a segment with the addresses and ports of a connection belongs to it, and
// not to a later one. Like Wireshark, it has no limit of time: FINs are sent again for minutes, and
// a RST may be ignored.
func (m *membership) owns(s *decode.Segment) bool {
	own := &m.ends[s.From]
	other := &m.ends[1-s.From]
	quiet := m.closed && s.TimeNs-m.lastNs >= quietNs
	behind := s.Seq + 1 // number of the first byte, if the segment is a SYN
	switch s.Flags & (decode.SYN | decode.ACK) {
	case decode.SYN:
		switch {
		case own.syn && behind == own.start:
			return !quiet || !own.spoke
		case own.begun:
			// A SYN may have been captured behind the segment that followed it.
			return !own.syn && behind == own.start
		case other.acked:
			return other.ack-behind <= s.Payload
		}
		return true
	case decode.SYN | decode.ACK:
		switch {
		case own.begun && behind == own.start:
			return !quiet || !other.spoke
		case other.syn && !other.spoke && s.Ack-other.start <= other.next-other.start:
			// The answer to the SYN. What this end sent before was of an older connection, or a RST
			// that the other end did not take for an answer.
			return true
		case own.begun:
			return !own.fin && !m.closed
		}
		return true
	}
	if !quiet || !own.begun {
		return true
	}
	distance := int32(s.Seq - own.next)
	return max(distance, -distance) < nearBytes
}

// note takes a segment of the connection.
func (m *membership) note(s *decode.Segment) {
	own := &m.ends[s.From]
	syn := s.Flags&decode.SYN != 0
	end := s.Seq + sequence(s)
	switch {
	case syn && (!own.syn || s.Seq+1 != own.start):
		own.begun = true
		own.syn = true
		own.start = s.Seq + 1
		own.next = end
	case !own.begun:
		own.begun = true
		own.start = s.Seq
		own.next = end
	case s.Flags&decode.RST == 0 && less(own.next, end):
		own.next = end
	}
	if s.Flags&(decode.SYN|decode.RST) == 0 {
		own.spoke = true
	}
	if s.Flags&decode.ACK != 0 && !own.acked {
		own.acked = true
		own.ack = s.Ack
	}
	if s.Flags&decode.FIN != 0 {
		own.fin = true
	}
}

func (m *members) add(s *decode.Segment) *connection {
	if len(m.byKey) >= m.maxOpen {
		oldest := m.closed.oldest
		if oldest == nil {
			oldest = m.open.oldest
			m.forgotten++
		}
		m.remove(oldest)
	}
	m.count++
	c := &connection{membership: membership{key: s.Key, client: s.From}}
	c.worker = int(m.count % uint64(m.workers))
	if s.Flags&(decode.SYN|decode.ACK) == decode.SYN|decode.ACK {
		c.client = 1 - s.From
	}
	c.ID = m.count
	c.FirstNs = s.TimeNs
	c.LastNs = s.TimeNs
	c.FirstPacket = s.Number
	c.takenNs = s.TimeNs
	c.Client = s.Key.Endpoint(int(c.client))
	c.Server = s.Key.Endpoint(1 - int(c.client))
	c.begin()
	m.byKey[s.Key] = c
	m.open.push(c)
	return c
}

// touch makes a connection the newest of its queue. A RST or the FINs of both ends close it; the
// next SYN of the same connection, sent again behind a RST, opens it.
func (m *members) touch(c *connection, s *decode.Segment) {
	c.membership.lastNs = s.TimeNs
	c.membership.lastPacket = s.Number
	from := m.queueOf(c)
	switch {
	case s.Flags&decode.RST != 0, c.membership.ends[0].fin && c.membership.ends[1].fin:
		c.membership.closed = true
	case s.Flags&decode.SYN != 0:
		c.membership.closed = false
	}
	to := m.queueOf(c)
	if from == to && to.newest == c {
		return
	}
	from.unlink(c)
	to.push(c)
}

func (m *members) queueOf(c *connection) *queue {
	if c.membership.closed {
		return &m.closed
	}
	return &m.open
}

// queue holds connections in the order of their last packets.
type queue struct{ newest, oldest *connection }

func (q *queue) push(c *connection) {
	c.older = q.newest
	if q.newest != nil {
		q.newest.newer = c
	}
	q.newest = c
	if q.oldest == nil {
		q.oldest = c
	}
}

func (q *queue) unlink(c *connection) {
	if c.newer != nil {
		c.newer.older = c.older
	}
	if c.older != nil {
		c.older.newer = c.newer
	}
	if q.oldest == c {
		q.oldest = c.newer
	}
	if q.newest == c {
		q.newest = c.older
	}
	c.newer = nil
	c.older = nil
}

func (m *members) remove(c *connection) {
	if c.gone {
		return
	}
	c.gone = true
	m.queueOf(c).unlink(c)
	delete(m.byKey, c.key)
	if at := slot(&c.key); m.cache[at] == c {
		m.cache[at] = nil
	}
	m.end(c)
}

// finish ends all connections, those first whose last packets are the oldest.
func (m *members) finish() {
	for m.open.oldest != nil || m.closed.oldest != nil {
		oldest := m.open.oldest
		if closed := m.closed.oldest; oldest == nil ||
			closed != nil && closed.membership.lastPacket < oldest.membership.lastPacket {
			oldest = closed
		}
		m.remove(oldest)
	}
}
