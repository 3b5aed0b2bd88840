package stats

// meterPoints is the number of readings that a meter remembers; a quarter of the window lies
// between two of them.
const meterPoints = 6

type reading struct{ ns, value int64 }

// Meter turns readings of a counter into a rate over the last window. It assumes even growth
// between two readings, so a gap in the readings lowers the rate to its mean and never makes a
// peak. The zero value has no readings.
type Meter struct {
	points [meterPoints]reading // ring, oldest at next once full
	n      int
	next   int
	last   reading
}

// Add notes a reading at a time. A reading before the last one is ignored; a smaller count starts
// anew.
func (m *Meter) Add(ns, value, windowNs int64) {
	if m.n > 0 && ns < m.last.ns {
		return // out of order
	}
	if m.n > 0 && value < m.last.value {
		*m = Meter{} // another counter
	}
	m.last = reading{ns, value}
	if m.n > 0 && ns-m.newest().ns < windowNs/4 {
		return
	}
	m.points[m.next] = m.last
	m.next = (m.next + 1) % meterPoints
	m.n = min(m.n+1, meterPoints)
}

func (m *Meter) newest() reading { return m.points[(m.next+meterPoints-1)%meterPoints] }

// minSpanNs is the shortest time that gives a rate: below it, the first window's burst would pass
// for one.
const minSpanNs = 100e6

// PerSecond returns the growth per second over a window. The window ends at the last reading, or a
// delay before now if the reading is older than that. The rate is not ok while the readings span
// less than 0.1 s.
func (m *Meter) PerSecond(nowNs, windowNs, delayNs int64) (rate int64, ok bool) {
	if m.n == 0 {
		return 0, false
	}
	end := max(m.last.ns, nowNs-delayNs)
	start := m.at(end - windowNs)
	span := end - start.ns
	if span < minSpanNs {
		return 0, false
	}
	return int64(float64(m.last.value-start.value) * 1e9 / float64(span)), true
}

// at returns the count at a time, or the oldest reading if the time lies before it.
func (m *Meter) at(ns int64) reading {
	if ns >= m.last.ns {
		return reading{ns, m.last.value}
	}
	after := m.last
	for i := 1; i <= m.n; i++ {
		before := m.points[(m.next+meterPoints-i)%meterPoints]
		if before.ns <= ns {
			if after.ns == before.ns {
				return reading{ns, before.value}
			}
			grown := float64(after.value-before.value) * float64(ns-before.ns) / float64(after.ns-before.ns)
			return reading{ns, before.value + int64(grown)}
		}
		after = before
	}
	return after
}
