package queue

// Statistics are the counters of a queue or of one station's part of it. Pushed = Popped + Dropped
// + Length.Value() always holds.
type Statistics struct {
	// Packets. A packet that was refused counts as pushed and as dropped.
	Pushed, Popped, Dropped int64
	// PoppedBytes of IP packets.
	PoppedBytes int64
	// Marked counts packets with the ECN codepoint CE, set instead of a drop.
	Marked int64
	// Length in packets over time.
	Length Length
	// Sojourn of the packets that were popped, in nanoseconds.
	Sojourn Histogram
}

// Measured is implemented by all queues here.
type Measured interface {
	// Statistics of the whole queue.
	Statistics() Statistics
	// StatisticsOf returns the statistics of one station. They are read-only.
	StatisticsOf(station int) *Statistics
	// RestartStatistics resets all statistics, as at the end of a warm-up. Waiting packets count as
	// pushed.
	RestartStatistics(nowNs int64)
}

func (s *Statistics) restart(nowNs int64) {
	s.Pushed = s.Length.Value()
	s.Popped = 0
	s.Dropped = 0
	s.PoppedBytes = 0
	s.Marked = 0
	s.Length.Restart(nowNs)
	s.Sojourn.Reset()
}

// ledger keeps the statistics of a queue and calls the drop callback.
type ledger struct {
	drop     Drop
	place    Place
	length   Length
	bytes    int
	stations []Statistics
}

func newLedger(stations int, place Place, drop Drop) ledger {
	return ledger{drop: drop, place: place, stations: make([]Statistics, stations)}
}

// enter counts a packet in.
func (l *ledger) enter(station int, p *Packet, nowNs int64) {
	p.EnteredNs = nowNs
	s := &l.stations[station]
	s.Pushed++
	s.Length.Add(1, nowNs)
	l.length.Add(1, nowNs)
	l.bytes += p.Length
}

// leave counts a packet out.
func (l *ledger) leave(station int, p *Packet, nowNs int64) {
	s := &l.stations[station]
	s.Popped++
	s.PoppedBytes += int64(p.Length)
	s.Sojourn.Add(nowNs - p.EnteredNs)
	l.gone(s, p, nowNs)
}

// discard drops a packet that waited.
func (l *ledger) discard(station int, p *Packet, nowNs int64) {
	s := &l.stations[station]
	s.Dropped++
	l.gone(s, p, nowNs)
	l.drop(p, l.place, nowNs)
}

func (l *ledger) gone(s *Statistics, p *Packet, nowNs int64) {
	s.Length.Add(-1, nowNs)
	l.length.Add(-1, nowNs)
	l.bytes -= p.Length
}

// refuse drops a packet that did not enter.
func (l *ledger) refuse(station int, p *Packet, nowNs int64) {
	s := &l.stations[station]
	s.Pushed++
	s.Dropped++
	l.drop(p, l.place, nowNs)
}

// exchange drops a waiting packet whose place another packet takes.
func (l *ledger) exchange(station int, old, with *Packet, nowNs int64) {
	with.EnteredNs = nowNs
	s := &l.stations[station]
	s.Pushed++
	s.Dropped++
	l.bytes += with.Length - old.Length
	l.drop(old, l.place, nowNs)
}

// Len is the number of waiting packets.
func (l *ledger) Len() int { return int(l.length.Value()) }

// Bytes of the waiting IP packets.
func (l *ledger) Bytes() int { return l.bytes }

// LenOf is the number of packets that wait for a station.
func (l *ledger) LenOf(station int) int { return int(l.stations[station].Length.Value()) }

// Statistics of the whole queue.
func (l *ledger) Statistics() Statistics {
	all := Statistics{Length: l.length}
	for i := range l.stations {
		s := &l.stations[i]
		all.Pushed += s.Pushed
		all.Popped += s.Popped
		all.Dropped += s.Dropped
		all.PoppedBytes += s.PoppedBytes
		all.Marked += s.Marked
		all.Sojourn.Merge(&s.Sojourn)
	}
	return all
}

// StatisticsOf returns the statistics of one station. They are read-only.
func (l *ledger) StatisticsOf(station int) *Statistics { return &l.stations[station] }

// RestartStatistics resets all statistics, as at the end of a warm-up. Waiting packets count as
// pushed.
func (l *ledger) RestartStatistics(nowNs int64) {
	l.length.Restart(nowNs)
	for i := range l.stations {
		l.stations[i].restart(nowNs)
	}
}
