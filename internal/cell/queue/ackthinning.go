package queue

// Thinnable is a discipline in which a packet can replace another one. All disciplines of this
// package are.
type Thinnable interface {
	Discipline
	Measured
	// replace puts a packet in the place of a waiting packet of the same station and flow, and
	// drops that packet. The waiting packet must not be the present head.
	replace(old, with *Packet, nowNs int64)
}

// thinningSlots is the number of flows that are followed. Two flows that meet in a slot are merely
// thinned less.
const thinningSlots = 4096

// AckThinning lets a later TCP ACK replace a waiting ACK of the same flow, so that the queue of an
// access point stays short. It works like "ack-filter-aggressive" of tc-cake. SACK is left to the
// caller: Packet.Ack is set only if no information is lost.
//
// A duplicate ACK replaces nothing. An ACK does not replace one that has a later packet of its flow
// in between, so the order within a flow stays.
type AckThinning struct {
	Thinnable
	slots   []*Packet // the acknowledgement that is its flow's last waiting packet
	heads   []*Packet // given out by Head and not taken yet
	thinned int64
}

// NewAckThinning wraps a discipline for the given number of stations. It calls discipline with its
// own drop callback, because it has to know the drops.
func NewAckThinning(stations int, drop Drop, discipline func(Drop) Thinnable) *AckThinning {
	q := &AckThinning{slots: make([]*Packet, thinningSlots), heads: make([]*Packet, stations)}
	q.Thinnable = discipline(func(p *Packet, at Place, atNs int64) {
		q.forget(p)
		drop(p, at, atNs)
	})
	return q
}

// Thinned is the number of acknowledgements that were dropped for a later one. The statistics count
// them as dropped.
func (q *AckThinning) Thinned() int64 { return q.thinned }

func (q *AckThinning) slot(p *Packet) *(*Packet) {
	return &q.slots[mix(p.Flow, p.Station)%thinningSlots]
}

func (q *AckThinning) forget(p *Packet) {
	if s := q.slot(p); *s == p {
		*s = nil
	}
}

// Push takes a packet, in the place of a waiting acknowledgement if it makes that one needless.
func (q *AckThinning) Push(p *Packet, nowNs int64) {
	s := q.slot(p)
	waiting := *s
	same := waiting != nil && waiting.Flow == p.Flow && waiting.Station == p.Station
	switch {
	case !p.Ack:
		if same {
			*s = nil
		}
	// Sequence numbers wrap around (RFC 9293 section 3.4).
	case same && int32(p.AckNumber-waiting.AckNumber) > 0 && q.heads[p.Station] != waiting:
		*s = p
		q.thinned++
		q.replace(waiting, p, nowNs)
		return
	default:
		*s = p
	}
	q.Thinnable.Push(p, nowNs)
}

// Head returns the head of the discipline. The head is not replaced any more.
func (q *AckThinning) Head(station int, nowNs int64) *Packet {
	p := q.Thinnable.Head(station, nowNs)
	q.heads[station] = p
	return p
}

// Pop takes the head.
func (q *AckThinning) Pop(station int, nowNs int64) *Packet {
	p := q.Thinnable.Pop(station, nowNs)
	q.heads[station] = nil
	if p != nil {
		q.forget(p)
	}
	return p
}
