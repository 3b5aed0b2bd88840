package measure

import (
	"math"

	"airtide/internal/tcp"
)

// overTime is the mean of a value that holds until the next one.
type overTime struct {
	sum, ns     float64
	last, since int64
	most        int64
	known       bool
}

func (o *overTime) add(atNs, value int64) {
	if value == tcp.Absent {
		return
	}
	if o.known {
		o.sum += float64(o.last) * float64(atNs-o.since)
		o.ns += float64(atNs - o.since)
	}
	o.last, o.since, o.known = value, atNs, true
	o.most = max(o.most, value)
}

// mean up to a time.
func (o *overTime) mean(toNs int64) float64 {
	if !o.known {
		return math.NaN()
	}
	rest := float64(max(toNs-o.since, 0))
	if o.ns+rest == 0 {
		return float64(o.last)
	}
	return (o.sum + float64(o.last)*rest) / (o.ns + rest)
}

// end is the last value, NaN without any.
func (o *overTime) end() float64 {
	if !o.known {
		return math.NaN()
	}
	return float64(o.last)
}

// growth is by how much a counter grows in the measured time.
type growth struct {
	first, last int64
	known       bool
}

func (g *growth) add(before bool, value int64) {
	if value == tcp.Absent {
		return
	}
	if before || !g.known {
		g.first, g.known = value, true
	}
	g.last = value
}

func (g *growth) of() float64 {
	if !g.known {
		return math.NaN()
	}
	return float64(g.last - g.first)
}

// falls are what fast recoveries leave of the congestion window: its size when the connection is open again, over the one
// that it had when the recovery began. A recovery that ended in a timeout, or was undone, is none.
type falls struct {
	sum      float64
	count    int
	open     int64 // the window when the connection was last open; 0 before
	recovers bool
	timedOut bool
}

func (f *falls) add(before bool, state, cwnd int64) {
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
		f.open, f.recovers, f.timedOut = cwnd, false, false
	}
}

// kept is the mean share, NaN without a fall.
func (f *falls) kept() float64 { return f.sum / float64(f.count) }
