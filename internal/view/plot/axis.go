package report

import (
	"fmt"
	"math"
	"time"
)

// axis is the vertical axis of a panel. Bounds are in the unit of the fields.
type axis struct {
	label    string
	quantity quantity
	levels   []string // names of the values 0, 1, 2, ... when the axis shows a state
	floating bool     // need not start at 0
	log      bool
	lo, hi   float64
	used     bool // something has set the bounds
}

// headroom above the highest value, as a part of the range, so that it does not run into the frame.
const headroom = 0.06

// include widens the bounds.
func (a *axis) include(lo, hi float64) {
	if !a.used {
		a.lo, a.hi, a.used = lo, hi, true
	}
	a.lo, a.hi = min(a.lo, lo), max(a.hi, hi)
}

// settle turns the bounds of the data into those of the axis.
func (a *axis) settle() {
	switch {
	case len(a.levels) > 0:
		a.lo, a.hi = -0.35, float64(len(a.levels))-0.5
		return
	case !a.used:
		a.lo, a.hi = 0, 1
		a.log = false
	case a.log:
		a.lo, a.hi = max(a.lo, 1), max(a.hi, 1)
		a.lo, a.hi = a.lo/1.15, a.hi*1.15
		return
	}
	if !a.floating || a.lo > 0 && a.lo < 0.2*a.hi {
		a.lo = min(a.lo, 0)
	}
	if a.hi <= a.lo {
		a.hi = a.lo + a.quantity[0].size
	}
	a.hi += (a.hi - a.lo) * headroom
}

// norm is where a value stands: 0 at the bottom, 1 at the top. What lies outside a logarithmic axis stands at its end.
func (a *axis) norm(v float64) float64 {
	if a.log {
		return math.Log(max(v, a.lo)/a.lo) / math.Log(a.hi/a.lo)
	}
	return (v - a.lo) / (a.hi - a.lo)
}

// title is the label with the unit.
func (a *axis) title() string {
	if u := a.unit(); u.name != "" {
		return fmt.Sprintf("%s (%s)", a.label, u.name)
	}
	return a.label
}

func (a *axis) unit() unit { return a.quantity.unitFor(a.hi / (1 + headroom)) }

// ticks are at most about n ticks.
func (a *axis) ticks(n int) []labelled {
	var ticks []labelled
	size := a.unit().size
	switch {
	case len(a.levels) > 0:
		for i, name := range a.levels {
			ticks = append(ticks, labelled{float64(i), name})
		}
		return ticks
	case a.log:
		ticks = logTicks(a.lo/size, a.hi/size, n)
	default:
		ticks = evenTicks(a.lo/size, a.hi/size, n)
	}
	for i := range ticks {
		ticks[i].v *= size
	}
	return ticks
}

// timeAxis is the horizontal axis that all panels of a cell share.
type timeAxis struct {
	origin   int64
	from, to int64
	wall     time.Time
}

func (a *timeAxis) norm(t int64) float64 { return float64(t-a.from) / float64(a.to-a.from) }

// seconds are the bounds counted from the origin.
func (a *timeAxis) seconds() (lo, hi float64) {
	return float64(a.from-a.origin) / 1e9, float64(a.to-a.origin) / 1e9
}

func (a *timeAxis) title() string {
	switch {
	case a.wall.IsZero() && a.milli():
		return "time (ms)"
	case a.wall.IsZero():
		return "time (s)"
	}
	return "time of day, " + a.wall.Format("2006-01-02 MST")
}

// milli says that the axis is so short that seconds would be hard to read.
func (a *timeAxis) milli() bool { return a.to-a.origin < 1e8 }

// ticks are at most about n ticks, with times in monotonic nanoseconds.
func (a *timeAxis) ticks(n int) []labelled {
	lo, hi := a.seconds()
	scale := 1e9
	var ticks []labelled
	switch {
	case !a.wall.IsZero():
		ticks = clockTicks(a.wall, lo, hi, n)
	case a.milli():
		scale = 1e6
		ticks = evenTicks(lo*1e3, hi*1e3, n)
	default:
		ticks = evenTicks(lo, hi, n)
	}
	for i := range ticks {
		ticks[i].v = ticks[i].v*scale + float64(a.origin)
	}
	return ticks
}
