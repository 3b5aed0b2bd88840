package queue

// Discipline is an access point's queue. It chooses the next station and its next packet.
type Discipline interface {
	// Push takes a packet, or drops it or another by the callback that the discipline was made
	// with.
	Push(p *Packet, nowNs int64)
	// Turn returns the station to serve next, or false if the queue is empty. The answer does not
	// change until a Pop, Push or Charge.
	Turn(nowNs int64) (station int, ok bool)
	// Head returns the next packet of a station, or nil. It stays the head until Pop, so a
	// discipline that drops at the head has dropped before.
	Head(station int, nowNs int64) *Packet
	// Pop takes the head.
	Pop(station int, nowNs int64) *Packet
	// Charge reports the airtime of a transmission for the station or of the station's own.
	// Disciplines without airtime fairness ignore it.
	Charge(station int, airtimeNs int64)
	// Len and Bytes return the size of the queue, LenOf the number of packets for one station.
	Len() int
	Bytes() int
	LenOf(station int) int
}
