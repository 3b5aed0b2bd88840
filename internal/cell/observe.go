package cell

import (
	"airtide/internal/cell/medium"
	"airtide/internal/cell/queue"
)

// newStatus has room for all that is observed.
func (w *World) newStatus() *Status {
	return &Status{Terminals: make([]TerminalStatus, len(w.names)), Flows: make([]FlowStatus, len(w.flows.counts))}
}

// Observe copies the counters for Observation.
func (w *World) Observe(nowNs int64) { w.observe(w.seen, nowNs) }

// observe copies everything as it has been counted from time zero of the world.
func (w *World) observe(s *Status, nowNs int64) {
	s.TimeNs = nowNs
	s.UnderWay = w.entered - w.left
	copy(s.Flows, w.flows.counts)
	w.up.Settle(nowNs)
	w.down.Settle(nowNs)
	s.WireUp.observe(w.up.Wire().RateBps, w.up.WireStatistics(), nowNs)
	s.WireDown.observe(w.down.Wire().RateBps, w.down.WireStatistics(), nowNs)
	for i, station := range w.order {
		t := &s.Terminals[i]
		t.Name = w.names[station]
		t.Drops = w.drops[station]
		t.PathUp = w.up.Counters(station)
		t.PathDown = w.down.Counters(station)
		t.Ethernet = station >= w.radios
		if t.Ethernet {
			continue
		}
		t.PHYRateBps = w.medium.RateBps(station, nowNs)
		t.Up.observe(w.medium.Station(station), nowNs)
		t.Down.observe(w.medium.Down(station), nowNs)
		t.Queue.observe(w.medium.StationQueue(station), nowNs)
		t.APQueue.observe(w.ap.StatisticsOf(station), nowNs)
	}
	if w.medium != nil {
		s.BusyNs = w.medium.BusyNs(nowNs)
		s.AP.Radio.observe(w.medium.AP(), nowNs)
		all := w.ap.Statistics()
		s.AP.Queue.observe(&all, nowNs)
		if thinning, ok := w.ap.(*queue.AckThinning); ok {
			s.AP.Thinned = thinning.Thinned()
		}
		if w.sharing != nil {
			s.AP.Lowered = w.sharing.lowered
		}
	}
}

func (r *RadioCounts) observe(c *medium.Counters, nowNs int64) {
	r.AirtimeNs = c.AirtimeNs
	r.TXOPs = c.TXOPs
	r.PPDUs = c.PPDUs
	r.BlockAckRequests = c.BlockAckReqs
	r.Collisions = c.Collisions
	r.Beacons = c.Beacons
	r.Frames = c.Frames
	r.Retries = c.Retries
	r.FrameErrors = c.FrameErrors
	r.GivenUp = c.Drops[queue.PlaceRetryLimit]
	r.Sizes = c.Sizes
	r.DeliveredPackets = c.DeliveredPackets
	r.DeliveredBytes = c.DeliveredBytes
	r.Backlog.observe(&c.Backlog, nowNs)
	r.Sojourn = c.Sojourn
}

func (q *QueueCounts) observe(s *queue.Statistics, nowNs int64) {
	q.Pushed = s.Pushed
	q.Popped = s.Popped
	q.Dropped = s.Dropped
	q.PoppedBytes = s.PoppedBytes
	q.Marked = s.Marked
	q.Length.observe(&s.Length.Level, nowNs)
	q.Lengths = s.Length.Times(nowNs)
	q.Sojourn = s.Sojourn
}

func (w *WireStatus) observe(rateBps int64, s *queue.Statistics, nowNs int64) {
	w.RateBps = rateBps
	w.Queue.observe(s, nowNs)
}

// observe takes a level that has never been restarted, so its time is the world's.
func (a *Area) observe(l *queue.Level, nowNs int64) {
	a.Now = l.Value()
	a.Max = l.Max()
	a.PacketNs = l.Mean(nowNs) * float64(nowNs)
}

// Observation is the Status since Begin as it was at the last Observe.
func (w *World) Observation() any {
	s := w.seen.since(w.base)
	return &s
}

func (d *Drops) add(at queue.Place) {
	switch at {
	case queue.PlaceStationQueue:
		d.StationQueue++
	case queue.PlaceAPQueue:
		d.APQueue++
	case queue.PlaceRetryLimit:
		d.RetryLimit++
	case queue.PlaceWireQueue:
		d.WireQueue++
	case queue.PlacePath:
		d.Path++
	}
}

// Total of all places.
func (d Drops) Total() int64 { return d.StationQueue + d.APQueue + d.RetryLimit + d.WireQueue + d.Path }
