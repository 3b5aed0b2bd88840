package queue

// Thinnable is a discipline in which one packet can take another's place. All disciplines here are.
type Thinnable interface {
	Discipline
	Measured
	// replace puts a packet where another one of the same station and flow waits that is not the
	// head given out, and drops the other one.
	replace(old, with *Packet, nowNs int64)
}

// thinningSlots is the number of flows that are followed. Two flows that meet in a slot are merely
// thinned less.
const thinningSlots = 4096

// AckThinning lets a later TCP acknowledgement take the place of a waiting one of the same flow,
// which it makes needless: the queue of an access point that mainly carries acknowledgements stays
// short. This is what "ack-filter-aggressive" of tc-cake does, but for SACK, which the caller sees
// to: it sets Packet.Ack only where nothing is lost.
//
// A duplicate acknowledgement replaces nothing. Nor does one that has a later packet of its flow
// between it and the waiting one, so the order within a flow remains.
type AckThinning struct {
	Thinnable
	slots   []*Packet // the acknowledgement that is its flow's last waiting packet
	heads   []*Packet // given out by Head and not taken yet
	thinned int64
}

// NewAckThinning wraps a discipline of so many stations. It makes it itself, for it has to see the
// discipline's drops.
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

// Head is the discipline's. It is promised, so it is not replaced any more.
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
