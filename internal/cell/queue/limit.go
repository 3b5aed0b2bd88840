package queue

// Limit is the most that may wait. Zero stands for no limit.
type Limit struct {
	Packets int `json:"packets,omitempty"`
	Bytes   int `json:"bytes,omitempty"` // of IP packets
}

// Over says that so much is more than the limit allows.
func (l Limit) Over(packets, bytes int) bool {
	return l.Packets > 0 && packets > l.Packets || l.Bytes > 0 && bytes > l.Bytes
}

// Drop is told of every packet that a queue gives up, with the place and the virtual time. The
// packet is then the caller's.
type Drop func(p *Packet, at Place, atNs int64)
