package decode

import "math/bits"

// fragmentKey names a datagram that was fragmented.
type fragmentKey struct {
	addresses
	id       uint32
	protocol uint8 // protocol number of IPv4
}

// datagram is the state of a fragmented datagram.
type datagram struct {
	head  [maxHead]byte        // the first bytes, with the TCP header
	has   [maxHead / 64]uint64 // one bit for each byte of head
	have  int                  // bytes that came
	total int                  // bytes of the whole, or 0 while the last fragment is missing
	bytes uint32               // bytes of its packets
	seen  []uint64             // one bit for each offset that came, in units of 8 bytes
}

// Limits of the datagrams that wait for fragments.
const (
	maxDatagrams = 1024
	maxHead      = 256 // a tunnel's headers and those inside
)

// fragments holds datagrams that are incomplete. The oldest goes if there are too many.
type fragments struct {
	waiting map[fragmentKey]*datagram
	order   []fragmentKey
}

// fragment adds a part of a datagram. It returns the datagram once it is whole.
func (d *Decoder) fragment(
	key fragmentKey, offset int, more bool, body []byte, length int, s *Segment,
) *datagram {
	d.Counts.Fragments++
	f := &d.fragments
	if f.waiting == nil {
		f.waiting = map[fragmentKey]*datagram{}
	}
	g := f.waiting[key]
	if g == nil {
		if len(f.order) >= maxDatagrams {
			delete(f.waiting, f.order[0])
			f.order = append(f.order[:0], f.order[1:]...)
		}
		g = &datagram{}
		f.waiting[key] = g
		f.order = append(f.order, key)
	}
	unit := offset / 8
	for len(g.seen) <= unit/64 {
		g.seen = append(g.seen, 0)
	}
	if g.seen[unit/64]&(1<<(unit%64)) != 0 {
		return nil // a duplicate
	}
	g.seen[unit/64] |= 1 << (unit % 64)
	g.have += length
	g.bytes += s.PacketBytes
	g.keep(offset, body)
	if !more {
		g.total = offset + length
	}
	if g.total == 0 || g.have < g.total {
		return nil
	}
	delete(f.waiting, key)
	for i := range f.order {
		if f.order[i] == key {
			f.order = append(f.order[:i], f.order[i+1:]...)
			break
		}
	}
	s.PacketBytes = g.bytes
	return g
}

// keep keeps the bytes that lie in the head.
func (g *datagram) keep(offset int, body []byte) {
	if offset >= maxHead {
		return
	}
	n := copy(g.head[offset:], body)
	for at := offset; at < offset+n; at++ {
		g.has[at/64] |= 1 << (at % 64)
	}
}

// known returns the first bytes, up to one that was not captured.
func (g *datagram) known() []byte {
	n := 0
	for _, word := range g.has {
		ones := bits.TrailingZeros64(^word)
		n += ones
		if ones < 64 {
			break
		}
	}
	return g.head[:min(n, g.total)]
}
