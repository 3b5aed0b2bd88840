package conn

import (
	"encoding/binary"

	"airtide/internal/packets/decode"
)

// membership is what the reader knows of an open connection.
type membership struct {
	key            decode.Key
	client         uint8 // end of key
	begun          [2]bool
	first          [2]uint32 // first sequence number of each end of key
	fins           [2]bool
	closed         bool
	worker         int
	newer, older   *connection // by the last packet
	lingeringSince int64
	gone           bool
}

// members finds the connection of a segment. It knows all open connections.
type members struct {
	byKey   map[decode.Key]*connection
	cache   [cacheSize]*connection
	newest  *connection
	oldest  *connection
	closed  []*connection // in the order of their ends
	count   uint64
	maxOpen int
	workers int
	// end is called with a connection that ends before the capture does.
	end func(*connection)
	// forgotten counts connections that ended because too many were open.
	forgotten uint64
}

const (
	cacheSize    = 1 << 10
	maxLingering = 1 << 14
	// lingerNs is the time for which a closed connection takes late segments.
	lingerNs = 120e9
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
	if c != nil && s.Flags&decode.SYN != 0 && c.begun[s.From] && c.first[s.From] != s.Seq &&
		(s.Flags&decode.ACK == 0 || c.membership.closed) {
		m.remove(c) // the ports are in use again
		c = nil
	}
	if c == nil {
		c = m.add(s)
	}
	m.cache[at] = c
	if !c.begun[s.From] {
		c.begun[s.From] = true
		c.first[s.From] = s.Seq
	}
	m.touch(c)
	if s.Flags&(decode.FIN|decode.RST) != 0 {
		c.fins[s.From] = true
		if !c.membership.closed && (s.Flags&decode.RST != 0 || c.fins[0] && c.fins[1]) {
			c.membership.closed = true
			c.lingeringSince = s.TimeNs
			m.closed = append(m.closed, c)
		}
	}
	m.expire(s.TimeNs)
	return c, int(s.From ^ c.client)
}

func (m *members) add(s *decode.Segment) *connection {
	if len(m.byKey) >= m.maxOpen {
		m.forgotten++
		m.remove(m.oldest)
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
	c.lastNs = s.TimeNs
	c.Client = s.Key.Endpoint(int(c.client))
	c.Server = s.Key.Endpoint(1 - int(c.client))
	c.ends[0].Direction = &c.FromClient
	c.ends[1].Direction = &c.FromServer
	m.byKey[s.Key] = c
	return c
}

// touch makes a connection the newest.
func (m *members) touch(c *connection) {
	if m.newest == c {
		return
	}
	m.unlink(c)
	c.older = m.newest
	if m.newest != nil {
		m.newest.newer = c
	}
	m.newest = c
	if m.oldest == nil {
		m.oldest = c
	}
}

func (m *members) unlink(c *connection) {
	if c.newer != nil {
		c.newer.older = c.older
	}
	if c.older != nil {
		c.older.newer = c.newer
	}
	if m.oldest == c {
		m.oldest = c.newer
	}
	if m.newest == c {
		m.newest = c.older
	}
	c.newer = nil
	c.older = nil
}

func (m *members) remove(c *connection) {
	if c.gone {
		return
	}
	c.gone = true
	m.unlink(c)
	delete(m.byKey, c.key)
	if at := slot(&c.key); m.cache[at] == c {
		m.cache[at] = nil
	}
	m.end(c)
}

// expire ends connections that were closed long ago.
func (m *members) expire(nowNs int64) {
	n := 0
	for n < len(m.closed) {
		c := m.closed[n]
		if !c.gone && nowNs-c.lingeringSince < lingerNs && len(m.closed)-n <= maxLingering {
			break
		}
		m.remove(c)
		m.closed[n] = nil
		n++
	}
	if n > 0 {
		m.closed = m.closed[n:]
	}
}

// finish ends all connections, the oldest first.
func (m *members) finish() {
	for m.oldest != nil {
		m.remove(m.oldest)
	}
	m.closed = nil
}
