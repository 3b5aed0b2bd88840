package queue

// RoundRobin has one FIFO for each station. The turn passes on with the first packet taken in it.
// The packets of an A-MPDU are taken together, so they are one turn.
type RoundRobin struct {
	ledger
	all, each Limit
	stations  []list
	turns     roundRobinTurns
}

// NewRoundRobin makes the queue of an access point with a number of stations. One limit holds for
// all packets, the other one for each station's.
func NewRoundRobin(stations int, all, each Limit, drop Drop) *RoundRobin {
	q := &RoundRobin{
		ledger: newLedger(stations, PlaceAPQueue, drop), all: all, each: each, stations: make([]list, stations),
	}
	q.turns = newRoundRobinTurns(&q.ledger)
	return q
}

// Push takes a packet, or drops it when it would exceed a limit.
func (q *RoundRobin) Push(p *Packet, nowNs int64) {
	own := &q.stations[p.Station]
	if q.all.Over(q.Len()+1, q.Bytes()+p.Length) || q.each.Over(own.packets+1, own.bytes+p.Length) {
		q.refuse(p.Station, p, nowNs)
		return
	}
	own.push(p)
	q.enter(p.Station, p, nowNs)
	q.turns.arrived(p.Station, nowNs)
}

// Turn is the station that has waited longest for its turn.
func (q *RoundRobin) Turn(nowNs int64) (station int, ok bool) { return q.turns.turn(nowNs) }

// Head is the oldest packet of a station.
func (q *RoundRobin) Head(station int, _ int64) *Packet { return q.stations[station].head }

// Pop takes the oldest packet of a station.
func (q *RoundRobin) Pop(station int, nowNs int64) *Packet {
	if q.stations[station].head == nil {
		return nil
	}
	q.turns.popping(station, nowNs)
	p := q.stations[station].pop()
	q.leave(station, p, nowNs)
	return p
}

// Charge is ignored.
func (q *RoundRobin) Charge(int, int64) {}

func (q *RoundRobin) replace(old, with *Packet, nowNs int64) {
	q.stations[old.Station].replace(old, with)
	q.exchange(old.Station, old, with, nowNs)
}

// turns decides between the stations for which something waits.
type turns interface {
	// arrived is called after a packet for the station has entered.
	arrived(station int, nowNs int64)
	turn(nowNs int64) (station int, ok bool)
	// popping is called before a packet of the station leaves. The packet still counts.
	popping(station int, nowNs int64)
	charge(station int, airtimeNs int64)
}

// roundRobinTurns keeps the stations in the order of their turns. A station with an empty queue
// stays until its turn comes.
type roundRobinTurns struct {
	waiting *ledger
	order   stationList
	listed  []bool
}

func newRoundRobinTurns(waiting *ledger) roundRobinTurns {
	n := len(waiting.stations)
	return roundRobinTurns{waiting: waiting, order: newStationList(make([]int32, n)), listed: make([]bool, n)}
}

func (t *roundRobinTurns) arrived(station int, _ int64) {
	if !t.listed[station] {
		t.listed[station] = true
		t.order.push(station)
	}
}

func (t *roundRobinTurns) turn(int64) (station int, ok bool) {
	for !t.order.empty() {
		first := int(t.order.first)
		if t.waiting.LenOf(first) > 0 {
			return first, true
		}
		t.listed[t.order.pop()] = false
	}
	return 0, false
}

func (t *roundRobinTurns) popping(station int, nowNs int64) {
	if first, ok := t.turn(nowNs); ok && first == station {
		t.order.push(t.order.pop())
	}
}

func (t *roundRobinTurns) charge(int, int64) {}
