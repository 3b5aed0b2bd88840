package path

import "math/rand/v2"

// Counters of one terminal in packets. Pushed + Duplicated = Delivered + Lost + QueueDropped +
// those under way.
type Counters struct {
	Pushed       int64 `json:"pushed_packets"`
	Delivered    int64 `json:"delivered_packets"`
	Lost         int64 `json:"lost_packets"`
	QueueDropped int64 `json:"queue_dropped_packets"`
	Duplicated   int64 `json:"duplicated_packets"`
	// Reordered counts packets that arrived after a packet that had entered later (RFC 4737 section
	// 3.3).
	Reordered int64 `json:"reordered_packets"`
}

// line holds the packets of one terminal that are under way.
type line struct {
	Line
	random *rand.Rand
	bad    bool // the state of the Gilbert-Elliott model
	since  int  // packets since one skipped its delay
	// fifo holds arrivals that keep their order, late the arrivals that may come in any order.
	fifo ring[event]
	late heap
	// lastNs is the arrival time of the last packet in fifo, which no packet may overtake.
	lastNs   int64
	highest  uint64 // number delivered
	counters Counters
}

// loses decides whether the next packet is lost.
func (l *line) loses() bool {
	lost := false
	if g := l.Loss.Gilbert; g.on() {
		change := g.P
		share := g.LossGood
		if l.bad {
			change = g.R
			share = g.LossBad
		}
		if l.random.Float64() < change {
			l.bad = !l.bad
		}
		lost = l.random.Float64() < share
	}
	if l.Loss.Random > 0 && l.random.Float64() < l.Loss.Random {
		lost = true
	}
	return lost
}

// skips decides whether the next packet skips its delay.
func (l *line) skips() bool {
	if l.Reorder.Share == 0 {
		return false
	}
	l.since++
	if l.since < l.Reorder.Gap || l.random.Float64() >= l.Reorder.Share {
		return false
	}
	l.since = 0
	return true
}

// drawDelay gives the delay of the next packet.
func (l *line) drawDelay() int64 {
	if l.Jitter.Ns == 0 {
		return l.DelayNs
	}
	var deviation float64
	switch l.Jitter.Distribution {
	case Uniform:
		deviation = 2*l.random.Float64() - 1
	case Normal:
		deviation = l.random.NormFloat64()
	}
	return max(0, l.DelayNs+int64(deviation*float64(l.Jitter.Ns)))
}

// enter takes a packet at the time at which it leaves the wire.
func (l *line) enter(e event) {
	if l.skips() {
		l.late.push(e)
		return
	}
	e.atNs += l.drawDelay()
	if l.Jitter.MayReorder && l.Jitter.Ns > 0 {
		l.late.push(e)
		l.lastNs = max(l.lastNs, e.atNs)
		return
	}
	e.atNs = max(e.atNs, l.lastNs)
	l.lastNs = e.atNs
	l.fifo.push(e)
}

// fifoFirst reports whether the next arrival is in fifo. At least one arrival exists.
func (l *line) fifoFirst() bool {
	return len(l.late) == 0 || l.fifo.count > 0 && l.fifo.front().before(&l.late[0])
}

// head returns the next arrival, or nil.
func (l *line) head() *event {
	if l.fifo.count == 0 && len(l.late) == 0 {
		return nil
	}
	if l.fifoFirst() {
		return l.fifo.front()
	}
	return &l.late[0]
}

func (l *line) pop() {
	if l.fifoFirst() {
		l.fifo.pop()
		return
	}
	l.late.pop()
}

// shift moves each arrival by the amount by which a change of the wire moved its packet.
func (l *line) shift(by func(number uint64) int64) {
	if l.fifo.count == 0 && len(l.late) == 0 {
		return
	}
	l.lastNs = 0
	for i := range l.late {
		l.late[i].atNs += by(l.late[i].number)
		l.lastNs = max(l.lastNs, l.late[i].atNs)
	}
	l.late.heapify()
	for i := range l.fifo.count {
		e := l.fifo.at(i)
		e.atNs += by(e.number)
		if i > 0 {
			e.atNs = max(e.atNs, l.fifo.at(i-1).atNs)
		}
		l.lastNs = max(l.lastNs, e.atNs)
	}
}
