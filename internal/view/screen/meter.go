package screen

import "airtide/internal/tcp"

// meterPoints is how many readings a meter remembers; a quarter of the window lies between two of them.
const meterPoints = 6

type reading struct{ ns, value int64 }

// meter turns readings of a growing counter into a rate over the last window. Between two readings the counter is
// taken to have grown evenly, so a gap in the samples lowers the rate to its mean and never makes a peak.
type meter struct {
	points [meterPoints]reading // ring, oldest at next once full
	n      int
	next   int
	last   reading
}

func (m *meter) add(ns, value, windowNs int64) {
	if m.n > 0 && ns < m.last.ns {
		return // out of order
	}
	if m.n > 0 && value < m.last.value {
		*m = meter{} // not the same counter any more
	}
	m.last = reading{ns, value}
	if m.n > 0 && ns-m.newest().ns < windowNs/4 {
		return
	}
	m.points[m.next] = m.last
	m.next = (m.next + 1) % meterPoints
	m.n = min(m.n+1, meterPoints)
}

func (m *meter) newest() reading { return m.points[(m.next+meterPoints-1)%meterPoints] }

// minSpanNs is the shortest time that gives a rate: below it, the first window's burst would pass for one.
const minSpanNs = 100e6

// perSecond is the growth per second over the window that ends with the last reading or, when that is older than the
// delay with which readings may arrive, at that delay before now. tcp.Absent before there is enough to tell.
func (m *meter) perSecond(nowNs, windowNs, delayNs int64) int64 {
	if m.n == 0 {
		return tcp.Absent
	}
	end := max(m.last.ns, nowNs-delayNs)
	start := m.at(end - windowNs)
	span := end - start.ns
	if span < minSpanNs {
		return tcp.Absent
	}
	return int64(float64(m.last.value-start.value) * 1e9 / float64(span))
}

// at is the counter at a time, or the oldest reading when the time lies before it.
func (m *meter) at(ns int64) reading {
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
