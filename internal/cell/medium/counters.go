package medium

import "airtide/internal/cell/queue"

// Counters hold the activity of a contender since the start or the last Restart. Times cover its
// own frames without their acknowledgements.
type Counters struct {
	// AirtimeNs is the duration of its frames with preambles, including collided ones.
	AirtimeNs int64
	// TXOPs counts the accesses to the medium, including collided ones.
	TXOPs int64
	// PPDUs with data, BlockAckReqs, and how many of both collided.
	PPDUs, BlockAckReqs, Collisions int64
	// Beacons of the access point; their time is in AirtimeNs.
	Beacons int64
	// Unanswered PPDUs were received by no one because of frame errors.
	Unanswered int64
	// Frames counts sent MPDUs, Retries the repeated ones.
	Frames, Retries int64
	// FrameErrors are frames lost without collision.
	FrameErrors int64
	// DeliveredPackets and DeliveredBytes (of IP packets) have crossed the medium and left it in
	// order.
	DeliveredPackets, DeliveredBytes int64
	// Drops counts packets dropped at a station's own queue and after the last retry. The access
	// point's discipline counts its own drops.
	Drops [queue.NumPlaces]int64
	// Sizes counts the data PPDUs by their number of frames.
	Sizes [MostFrames + 1]int64
	// Backlog is the number of packets over time that wait or are unacknowledged on the air.
	Backlog queue.Level
	// Sojourn in nanoseconds, from the entry into the queue until the packet is delivered.
	Sojourn queue.Histogram
}

// BusyNs returns the time in which the medium was busy since the start or the last Restart: frames,
// their acknowledgements and the times between these, also of collisions. Frames that collide count
// once.
func (m *Medium) BusyNs(nowNs int64) int64 {
	if m.phase == idle {
		return m.busyNs
	}
	return m.busyNs + max(nowNs-m.busyFromNs, 0)
}

// Station returns the counters of a station's transmissions. They are read-only.
func (m *Medium) Station(i int) *Counters { return &m.counters[i+1] }

// AP returns the counters of the access point's transmissions. They are read-only.
func (m *Medium) AP() *Counters { return &m.counters[0] }

// Down returns the counters of the access point's transmissions to one station, without Backlog.
// They are read-only.
func (m *Medium) Down(station int) *Counters { return &m.downs[station] }

// StationQueue returns the statistics of a station's own queue. They are read-only.
func (m *Medium) StationQueue(i int) *queue.Statistics { return m.terminals[i].queue.StatisticsOf(0) }

// Restart resets all counters, as at the end of a warm-up.
func (m *Medium) Restart(nowNs int64) {
	for i := range m.counters {
		c := &m.counters[i]
		backlog := c.Backlog
		*c = Counters{Backlog: backlog}
		c.Backlog.Restart(nowNs)
	}
	clear(m.downs)
	m.busyNs = 0
	m.busyFromNs = nowNs
	for i := range m.terminals {
		m.terminals[i].queue.RestartStatistics(nowNs)
	}
}

func (m *Medium) backlog(i int, nowNs int64) {
	waiting := m.inFlight[i]
	if i == 0 {
		waiting += m.apQueue.Len()
	} else {
		waiting += m.terminals[i-1].queue.Len()
	}
	m.counters[i].Backlog.Set(int64(waiting), nowNs)
}

func (c *Counters) sent(t *transmission) {
	c.AirtimeNs += t.endNs - t.startNs
	if t.bar {
		c.BlockAckReqs++
		return
	}
	c.PPDUs++
	c.Frames += int64(len(t.seqs))
	c.Retries += int64(t.retries)
	c.Sizes[len(t.seqs)]++
}

func (c *Counters) delivered(p *queue.Packet, atNs int64) {
	c.DeliveredPackets++
	c.DeliveredBytes += int64(p.Length)
	c.Sojourn.Add(atNs - p.EnteredNs)
}
