package engine

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"airtide/internal/cell/queue"
)

const (
	slotBytes = 2048
	// headroom in front of an IP packet takes the virtio and the Ethernet header, so that neither
	// reading nor writing moves a packet.
	headroom = 64
)

// slot is a packet with its memory.
type slot struct {
	// packet is the first field, so that a pointer to the packet is a pointer to the slot.
	packet queue.Packet
	to     *port // by which it leaves
	dueNs  int64 // when it left the world
	memory *[slotBytes]byte
	// checksumStart and checksumOffset locate an incomplete checksum: its first byte, counted from
	// the IP header, and the checksum field after that. A start of 0 means a complete checksum.
	checksumStart, checksumOffset uint16
	header                        header
	under                         bool // under way in the world
}

func slotOf(p *queue.Packet) *slot { return (*slot)(unsafe.Pointer(p)) }

// pool is the memory of all packets, taken once.
type pool struct {
	slots     []slot
	memory    []byte
	free      []*slot // the last one given back is the next one taken: it is still in the cache
	low       int     // the fewest that were ever free
	exhausted uint64  // packets that found none free
}

func newPool(n int) (*pool, error) {
	memory, err := unix.Mmap(-1, 0, n*slotBytes, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("reserving %d MiB for packets: %w", n*slotBytes>>20, err)
	}
	p := &pool{slots: make([]slot, n), memory: memory, free: make([]*slot, 0, n), low: n}
	for i := range p.slots {
		s := &p.slots[i]
		s.memory = (*[slotBytes]byte)(memory[i*slotBytes:])
		p.free = append(p.free, s)
	}
	return p, nil
}

// take is nil when all slots are under way.
func (p *pool) take() *slot {
	last := len(p.free) - 1
	if last < 0 {
		return nil
	}
	s := p.free[last]
	p.free = p.free[:last]
	p.low = min(p.low, last)
	return s
}

func (p *pool) give(s *slot) { p.free = append(p.free, s) }

// ip is the IP packet of n bytes in the slot.
func (s *slot) ip(n int) []byte { return s.memory[headroom : headroom+n : headroom+n] }

// copy returns a copy of a packet, or nil if no slot is free.
func (l *loop) copy(p *queue.Packet) *queue.Packet {
	from := slotOf(p)
	to := l.pool.take()
	if to == nil {
		l.pool.exhausted++
		return nil
	}
	to.header = from.header
	to.under = true
	to.to = from.to
	to.checksumStart = from.checksumStart
	to.checksumOffset = from.checksumOffset
	b := to.ip(len(p.Data))
	copy(b, p.Data)
	to.packet = queue.Packet{
		Data: b, Length: p.Length, Station: p.Station, Up: p.Up, Flow: p.Flow, Ack: p.Ack, AckNumber: p.AckNumber,
		ChecksumOpen: p.ChecksumOpen, EnteredNs: p.EnteredNs,
	}
	return &to.packet
}
