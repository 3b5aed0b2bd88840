package queue

// SharedFIFO is one FIFO with tail drop for all stations, as in simple access points. The oldest
// packet decides the station. The rest of an A-MPDU are the next packets of that station, anywhere
// in the queue.
type SharedFIFO struct {
	ledger
	limit          Limit
	stations       []list
	oldest, newest *Packet
}

// NewSharedFIFO makes the queue of an access point with a number of stations.
func NewSharedFIFO(stations int, limit Limit, drop Drop) *SharedFIFO {
	return &SharedFIFO{ledger: newLedger(stations, PlaceAPQueue, drop), limit: limit, stations: make([]list, stations)}
}

// Push takes a packet, or drops it when it would exceed the limit.
func (q *SharedFIFO) Push(p *Packet, nowNs int64) {
	if q.limit.Over(q.Len()+1, q.Bytes()+p.Length) {
		q.refuse(p.Station, p, nowNs)
		return
	}
	q.stations[p.Station].push(p)
	p.older = q.newest
	p.newer = nil
	if q.newest == nil {
		q.oldest = p
	} else {
		q.newest.newer = p
	}
	q.newest = p
	q.enter(p.Station, p, nowNs)
}

// Turn is the station of the oldest packet.
func (q *SharedFIFO) Turn(int64) (station int, ok bool) {
	if q.oldest == nil {
		return 0, false
	}
	return q.oldest.Station, true
}

// Head is the oldest packet of a station.
func (q *SharedFIFO) Head(station int, _ int64) *Packet { return q.stations[station].head }

// Pop takes the oldest packet of a station.
func (q *SharedFIFO) Pop(station int, nowNs int64) *Packet {
	p := q.stations[station].pop()
	if p == nil {
		return nil
	}
	if p.older == nil {
		q.oldest = p.newer
	} else {
		p.older.newer = p.newer
	}
	if p.newer == nil {
		q.newest = p.older
	} else {
		p.newer.older = p.older
	}
	p.older = nil
	p.newer = nil
	q.leave(station, p, nowNs)
	return p
}

// Charge is ignored.
func (q *SharedFIFO) Charge(int, int64) {}

func (q *SharedFIFO) replace(old, with *Packet, nowNs int64) {
	q.stations[old.Station].replace(old, with)
	with.older = old.older
	with.newer = old.newer
	if old.older == nil {
		q.oldest = with
	} else {
		old.older.newer = with
	}
	if old.newer == nil {
		q.newest = with
	} else {
		old.newer.older = with
	}
	old.older = nil
	old.newer = nil
	q.exchange(old.Station, old, with, nowNs)
}
