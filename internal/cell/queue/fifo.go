package queue

// FIFO is one queue with tail drop, as a station's interface has.
type FIFO struct {
	ledger
	limit   Limit
	waiting list
}

// NewFIFO creates a queue whose drops are reported with the given place.
func NewFIFO(limit Limit, place Place, drop Drop) *FIFO {
	return &FIFO{ledger: newLedger(1, place, drop), limit: limit}
}

// Push takes a packet, or drops it when it would exceed the limit.
func (q *FIFO) Push(p *Packet, nowNs int64) bool {
	if q.limit.Over(q.Len()+1, q.Bytes()+p.Length) {
		q.refuse(0, p, nowNs)
		return false
	}
	q.waiting.push(p)
	q.enter(0, p, nowNs)
	return true
}

// Head returns the oldest packet, or nil.
func (q *FIFO) Head() *Packet { return q.waiting.head }

// Pop removes and returns the oldest packet, or nil.
func (q *FIFO) Pop(nowNs int64) *Packet {
	p := q.waiting.pop()
	if p != nil {
		q.leave(0, p, nowNs)
	}
	return p
}
