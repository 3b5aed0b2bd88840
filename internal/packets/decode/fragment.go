package decode

// fragmentKey names a datagram that was fragmented.
type fragmentKey struct {
	source, target [16]byte
	id             uint32
}

// datagram is what is known of a fragmented datagram.
type datagram struct {
	head  []byte // the first bytes, with the TCP header
	have  int    // bytes that came
	total int    // bytes of the whole, or 0 while the last fragment is missing
	bytes uint32 // bytes of its packets
	seen  []int  // offsets that came
}

// Limits of the datagrams that wait for fragments.
const (
	maxDatagrams = 1024
	maxHead      = 60
	maxPieces    = 256
)

// fragments holds datagrams that are incomplete. The oldest goes if there are too many.
type fragments struct {
	waiting map[fragmentKey]*datagram
	order   []fragmentKey
}

// fragment adds a part of a datagram. Once the datagram is whole, it returns true and the segment.
func (d *Decoder) fragment(
	key fragmentKey, offset int, more bool, body []byte, length int, s *Segment, v6 bool,
) bool {
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
	for _, o := range g.seen {
		if o == offset {
			return false // a duplicate
		}
	}
	if len(g.seen) == maxPieces {
		return false
	}
	g.seen = append(g.seen, offset)
	g.have += length
	g.bytes += s.PacketBytes
	if offset == 0 {
		g.head = append([]byte(nil), body[:min(len(body), maxHead)]...)
	}
	if !more {
		g.total = offset + length
	}
	if g.total == 0 || g.have < g.total || g.head == nil {
		return false
	}
	delete(f.waiting, key)
	for i := range f.order {
		if f.order[i] == key {
			f.order = append(f.order[:i], f.order[i+1:]...)
			break
		}
	}
	s.PacketBytes = g.bytes
	return d.tcp(g.head, g.total, key.source, key.target, v6, s)
}

// Waiting is the number of datagrams that wait for fragments.
func (d *Decoder) Waiting() int { return len(d.fragments.waiting) }
