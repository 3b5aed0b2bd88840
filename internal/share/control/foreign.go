package control

import (
	"math"
	"time"

	"airtide/internal/share/flow"
)

// Beside foreign queues a window grows until the RTT is foreignRTTTarget, or foreignFactor times
// the foreign RTT if that is more. Foreign queues come and go within seconds, so the RTT in a probe
// does not tell the window that is needed. The product of rate and RTT does not either: rates are
// lowest if RTTs are long.
const (
	foreignRTTTarget = 250 * time.Millisecond
	foreignFactor    = 1.5
	// foreignTime is the time in which a window changes by a factor of e at most, and foreignSmooth
	// the time constant of the RTT.
	foreignTime, foreignSmooth = 700 * time.Millisecond, 700 * time.Millisecond
	// foreignPackets is the least of all windows together: an A-MPDU. foreignMost times the rate in
	// that RTT is the most.
	foreignPackets = AggregatePackets
	foreignMost    = 4
)

// foreignWindow is the window of one direction of a flow beside foreign queues.
type foreignWindow struct {
	bytes       float64       // 0 without foreign queues
	smoothedRTT time.Duration // the mean RTT, smoothed
	before      float64       // the last window outside a probe, in bytes
}

// update returns a window in bytes for a direction while foreign queues stand, and 0 otherwise. A
// bounded terminal must not get less than an unbounded one. missed means that the last RTT probe
// found no foreign queue, least is the smallest window, and elapsed is 0 during a probe.
func (w *foreignWindow) update(
	elapsed, queue time.Duration, d *flow.Direction, foreignRTT time.Duration, missed bool, least float64,
) float64 {
	if foreignRTT == 0 {
		w.bytes = 0
		w.smoothedRTT = 0
		return 0
	}
	if w.bytes == 0 {
		// The rate in the probe that found the queue says little.
		w.bytes = max(d.Rate*(foreignRTT+queue).Seconds()/8, w.before)
		w.smoothedRTT = d.LastRTT
	}
	w.smoothedRTT += time.Duration(min(elapsed.Seconds()/foreignSmooth.Seconds(), 1) * float64(d.LastRTT-w.smoothedRTT))
	target := max(foreignRTTTarget, time.Duration(foreignFactor*float64(foreignRTT+queue)))
	if w.smoothedRTT > 0 {
		more := min(max(math.Log(float64(target)/float64(w.smoothedRTT)), -1), 1)
		w.bytes *= math.Exp(more * elapsed.Seconds() / foreignTime.Seconds())
	}
	// The rate in a probe is no measure. But if no queue showed in it, the queue may be the
	// participants' own; a window that begins anew lets that show.
	if elapsed > 0 || missed {
		w.bytes = min(w.bytes, foreignMost*d.Rate*target.Seconds()/8)
	}
	w.bytes = max(w.bytes, least)
	return w.bytes
}
