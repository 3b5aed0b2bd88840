package path

import (
	"airtide/internal/cell/queue"
)

// hostFair is the queue in front of a wire on which hosts take turns, as sch_cake's host isolation
// has them (Høiland-Jørgensen et al., Piece of CAKE, LANMAN 2018, section III-B). A host is a
// terminal. Each has flow queues of its own with CoDel (RFC 8290). Hosts have equal time on the
// wire, by deficit round robin. CAKE's BLUE, hashing and shaper are left out.
type hostFair struct {
	*queue.FQCoDel
}

// newHostFair makes the queue of a wire. drop is called for each packet that the queue drops.
func newHostFair(w Wire, hosts int, drop queue.Drop) *hostFair {
	o := queue.FQCoDelOptions{Limit: w.Limit, DropBatch: 1, CoDel: queue.InternetCoDel}
	quantum := queue.AirtimeOptions{QuantumNs: max(1, (&wire{Wire: w}).frameNs(maxPacket))}
	return &hostFair{queue.NewAirtimeFQCoDel(hosts, o, quantum, drop)}
}

// maxPacket is the length of an IP packet that fills an Ethernet frame.
const maxPacket = 1500

// frameNs returns the time of a frame with its preamble and the gap, rounded down.
func (w *wire) frameNs(length int) int64 {
	if w.RateBps == 0 {
		return 0
	}
	return int64(EthernetBytes(length)) * 8e9 / w.RateBps
}

// freeNs returns when the wire can take the next waiting packet, or never.
func (p *Path) freeNs() int64 {
	if p.fair == nil || p.fair.Len() == 0 {
		return never
	}
	return p.wire.freeNs
}

// transmit puts waiting packets on the wire that can start by now.
func (p *Path) transmit(nowNs int64) {
	for p.wire.freeNs <= nowNs {
		host, ok := p.fair.Turn(nowNs)
		if !ok {
			return
		}
		packet := p.fair.Pop(host, nowNs)
		if packet == nil {
			continue // CoDel dropped all that the host had
		}
		_, endNs := p.wire.send(packet.Length, nowNs)
		p.fair.Charge(host, p.wire.frameNs(packet.Length))
		p.leave(packet, endNs)
	}
}
