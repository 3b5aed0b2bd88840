package queue

// Limit bounds a queue. Zero means no limit.
type Limit struct {
	Packets int `json:"packets,omitempty"`
	Bytes   int `json:"bytes,omitempty"` // of IP packets
}

// Over reports whether a queue of this size exceeds the limit.
func (l Limit) Over(packets, bytes int) bool {
	return l.Packets > 0 && packets > l.Packets || l.Bytes > 0 && bytes > l.Bytes
}

// Drop is called for every dropped packet with the place and the virtual time. The packet then
// belongs to the callee.
type Drop func(p *Packet, at Place, atNs int64)
