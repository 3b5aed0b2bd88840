package queue

// flowQueue holds the packets of one flow, or of flows with the same hash.
type flowQueue struct {
	waiting list
	codel   codelState
	deficit int   // bytes
	next    int32 // in its station's list
	listed  bool
}

// flowList is a FIFO of flow queues by their numbers.
type flowList struct{ first, last int32 }

var emptyFlowList = flowList{first: none, last: none}

func (q *FQCoDel) append(l *flowList, flow int32) {
	q.flows[flow].next = none
	if l.last == none {
		l.first = flow
	} else {
		q.flows[l.last].next = flow
	}
	l.last = flow
}

func (q *FQCoDel) removeFirst(l *flowList) int32 {
	flow := l.first
	l.first = q.flows[flow].next
	if l.first == none {
		l.last = none
	}
	return flow
}

// flowOf finds the flow queue for a packet.
func (q *FQCoDel) flowOf(p *Packet) int32 {
	h := mix(p.Flow, p.Station)
	return int32(p.Station*q.options.Flows) + int32(uint64(h)*uint64(q.options.Flows)>>32)
}

// mix spreads flows and stations over 32 bits (the finalizer of MurmurHash3).
func mix(flow uint32, station int) uint32 {
	h := flow ^ uint32(station)*0x9e3779b1
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// enqueue adds a packet to its flow queue, which is a new one of the station when it stood in no
// list.
func (q *FQCoDel) enqueue(p *Packet) {
	i := q.flowOf(p)
	f := &q.flows[i]
	f.waiting.push(p)
	if !f.listed {
		f.listed = true
		f.deficit = q.options.Quantum
		q.append(&q.shares[p.Station].new, i)
	}
}

// longestFlow returns the flow queue with the most bytes, or nil if all are empty. It examines only
// flow queues in use.
func (q *FQCoDel) longestFlow() *flowQueue {
	var most *flowQueue
	for s := range q.shares {
		for _, l := range [...]flowList{q.shares[s].new, q.shares[s].old} {
			for i := l.first; i != none; i = q.flows[i].next {
				if f := &q.flows[i]; f.waiting.packets > 0 && (most == nil || f.waiting.bytes > most.waiting.bytes) {
					most = f
				}
			}
		}
	}
	return most
}

// dequeue returns a station's next packet (RFC 8290 section 4.2), or nil.
func (q *FQCoDel) dequeue(share *stationShare, nowNs int64) *Packet {
	for {
		l := &share.new
		if l.first == none {
			l = &share.old
		}
		if l.first == none {
			return nil
		}
		f := &q.flows[l.first]
		if f.deficit <= 0 {
			f.deficit += q.options.Quantum
			q.append(&share.old, q.removeFirst(l))
			continue
		}
		if p := q.take(f, &q.options.CoDel, nowNs); p != nil {
			f.deficit -= p.Length
			return p
		}
		// An empty new flow moves to the old flows for one round. Otherwise its next packet would
		// make it new again.
		first := q.removeFirst(l)
		if l == &share.new && share.old.first != none {
			q.append(&share.old, first)
		} else {
			f.listed = false
		}
	}
}
