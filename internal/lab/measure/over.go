package measure

import (
	"math"

	"airtide/internal/stats"
	"airtide/internal/tcp"
)

// timeMean is the time-weighted mean of a field that may be absent.
type timeMean struct{ stats.TimeMean }

func (m *timeMean) add(atNs, value int64) {
	if value != tcp.Absent {
		m.Add(atNs, value)
	}
}

// growth is the increase of a counter in the measured time.
type growth struct{ stats.Counter }

// add adds a reading. It may be absent, or from before the measured time.
func (g *growth) add(before bool, value int64) {
	if value == tcp.Absent {
		return
	}
	g.Add(value)
	if before {
		g.Restart()
	}
}

// value returns the growth; NaN without a reading.
func (g *growth) value() float64 {
	if v, ok := g.Growth(); ok {
		return float64(v)
	}
	return math.NaN()
}

// windowCuts measures the remaining share of the congestion window after fast recoveries: the
// window when the connection is open again, divided by the window at the start of the recovery.
// Recoveries that ended in a timeout or were undone do not count.
type windowCuts struct {
	sum      float64
	count    int
	open     int64 // the window when the connection was last open; 0 before
	recovers bool
	timedOut bool
}

func (f *windowCuts) add(before bool, state, cwnd int64) {
	if state == tcp.Absent || cwnd == tcp.Absent {
		return
	}
	switch tcp.CAState(state) {
	case tcp.CARecovery:
		f.recovers = true
	case tcp.CALoss:
		f.timedOut = true
	case tcp.CAOpen, tcp.CADisorder:
		if f.recovers && !f.timedOut && !before && f.open > 0 && cwnd < f.open {
			f.sum += float64(cwnd) / float64(f.open)
			f.count++
		}
		f.open = cwnd
		f.recovers = false
		f.timedOut = false
	}
}

// kept returns the mean share; NaN without a recovery.
func (f *windowCuts) kept() float64 { return f.sum / float64(f.count) }
