package queue

// Discipline is an access point's queue: which station's turn it is, and what it gets.
type Discipline interface {
	// Push takes a packet, or drops it or another by the callback that the discipline was made
	// with.
	Push(p *Packet, nowNs int64)
	// Turn is the station whose packets go next; ok is false when nothing waits. It does not change
	// until a Pop, Push or Charge.
	Turn(nowNs int64) (station int, ok bool)
	// Head is the next packet of a station, nil when there is none. It stays the head until Pop, so
	// a discipline that drops when it gives out has dropped before.
	Head(station int, nowNs int64) *Packet
	// Pop takes the head.
	Pop(station int, nowNs int64) *Packet
	// Charge says that a transmission for the station, or one of the station's own, took so much of
	// the medium's time. Disciplines that are fair in airtime go by it; others ignore it.
	Charge(station int, airtimeNs int64)
	// Len and Bytes are what waits; LenOf is what waits for one station.
	Len() int
	Bytes() int
	LenOf(station int) int
}
