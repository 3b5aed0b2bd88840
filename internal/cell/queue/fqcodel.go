package queue

// FQCoDelOptions are the parameters of RFC 8290 and of CoDel. A zero field has its default.
type FQCoDelOptions struct {
	// Limit for all packets together. Default 10240 packets (RFC 8290 section 5.2.3).
	Limit Limit
	// Flows is the number of flow queues of each station. Default 1024.
	Flows int
	// Quantum in bytes that a flow queue may send in its turn. Default 1514; mac80211 has 300.
	Quantum int
	// DropBatch is how many packets at most, but no more than half of its bytes, the fattest flow
	// loses when the limit is exceeded. Default 64; mac80211 drops one at a time.
	DropBatch int
	// CoDel holds the parameters of every station.
	CoDel CoDel
}

func (o FQCoDelOptions) withDefaults() FQCoDelOptions {
	if o.Limit == (Limit{}) {
		o.Limit.Packets = 10240
	}
	if o.Flows == 0 {
		o.Flows = 1024
	}
	if o.Quantum == 0 {
		o.Quantum = 1514
	}
	if o.DropBatch == 0 {
		o.DropBatch = 64
	}
	return o
}

// FQCoDel divides each station's packets among flow queues (RFC 8290). Flow queues take turns by
// deficit round robin, new flows first, and CoDel keeps them short. The next station is chosen by
// round robin or by airtime fairness.
//
// Each station has its own flow queues. In mac80211 all stations share one table
// (include/net/fq_impl.h); there packets of a flow that shares a queue with another station's flow
// can overtake each other.
type FQCoDel struct {
	ledger
	options FQCoDelOptions
	turns   turns
	flows   []flowQueue // those of station 0, then of station 1, and so on
	shares  []stationShare
}

// stationShare is the FQ-CoDel state of a station.
type stationShare struct {
	new, old flowList
	// head was taken from its flow queue, after CoDel's drops, and waits for Pop.
	head *Packet
}

// NewFQCoDel creates an access point queue whose stations take turns.
func NewFQCoDel(stations int, options FQCoDelOptions, drop Drop) *FQCoDel {
	q := newFQCoDel(stations, options, drop)
	t := newRoundRobinTurns(&q.ledger)
	q.turns = &t
	return q
}

// NewAirtimeFQCoDel creates an access point queue whose stations have equal airtime.
func NewAirtimeFQCoDel(stations int, options FQCoDelOptions, airtime AirtimeOptions, drop Drop) *FQCoDel {
	q := newFQCoDel(stations, options, drop)
	q.turns = newAirtimeTurns(&q.ledger, airtime)
	return q
}

func newFQCoDel(stations int, options FQCoDelOptions, drop Drop) *FQCoDel {
	options = options.withDefaults()
	q := &FQCoDel{
		ledger:  newLedger(stations, PlaceAPQueue, drop),
		options: options,
		flows:   make([]flowQueue, options.Flows*stations),
		shares:  make([]stationShare, stations),
	}
	for i := range q.shares {
		q.shares[i] = stationShare{new: emptyFlowList, old: emptyFlowList}
	}
	return q
}

// Push takes a packet. When the limit is then exceeded, the flow with the most bytes loses its
// oldest packets.
func (q *FQCoDel) Push(p *Packet, nowNs int64) {
	q.enqueue(p)
	q.enter(p.Station, p, nowNs)
	q.turns.arrived(p.Station, nowNs)
	for q.options.Limit.Over(q.Len(), q.Bytes()) && q.dropFromLongestFlow(nowNs) {
	}
}

// dropFromLongestFlow drops a packet from the longest flow queue. It returns false if Head has
// promised all packets.
func (q *FQCoDel) dropFromLongestFlow(nowNs int64) bool {
	f := q.longestFlow()
	if f == nil {
		return false
	}
	half := f.waiting.bytes / 2
	dropped := 0
	for dropped < q.options.DropBatch && (dropped == 0 || f.waiting.bytes > half) {
		p := f.waiting.pop()
		q.discard(p.Station, p, nowNs)
		dropped++
	}
	// CoDel is to press harder on a flow that needed this (as net/sched/sch_fq_codel.c does).
	f.codel.count += dropped
	return true
}

// Turn is the station that sends next.
func (q *FQCoDel) Turn(nowNs int64) (station int, ok bool) { return q.turns.turn(nowNs) }

// Head is the packet that a station gets next. CoDel drops here, so that Pop gives this very
// packet.
func (q *FQCoDel) Head(station int, nowNs int64) *Packet {
	share := &q.shares[station]
	if share.head == nil {
		share.head = q.dequeue(share, nowNs)
	}
	return share.head
}

// Pop takes the head.
func (q *FQCoDel) Pop(station int, nowNs int64) *Packet {
	p := q.Head(station, nowNs)
	if p == nil {
		return nil
	}
	q.turns.popping(station, nowNs)
	q.shares[station].head = nil
	q.leave(station, p, nowNs)
	return p
}

// Charge reduces the airtime deficit of a station if airtime is shared.
func (q *FQCoDel) Charge(station int, airtimeNs int64) { q.turns.charge(station, airtimeNs) }

func (q *FQCoDel) replace(old, with *Packet, nowNs int64) {
	q.flows[q.flowOf(old)].waiting.replace(old, with)
	q.exchange(old.Station, old, with, nowNs)
}
