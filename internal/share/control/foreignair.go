package control

import (
	"math"
	"time"
)

// Traffic without an agent takes the airtime that short windows leave. It leaves no queue at the
// access point if it is sent by terminals, and its rates are in no report. How busy the channel is
// shows it: the participants' rates need a part of the airtime, and the rest of the busy part is
// foreign. On a channel that is free, the rest is the cost of short A-MPDUs, as behind a wire.
const (
	// busyChannel is the busy part of the time from which on the channel is not free. A channel on
	// which contenders always wait is busy for 0.75 to 0.98 of the time, by the length of frames.
	busyChannel = 0.8
	// foreignAirtime is the foreign part of the airtime that needs no longer queue. In random cells
	// in which all have agents its medians are below 0.05, and beside terminals without one most
	// are between 0.1 and 0.8.
	foreignAirtime = 0.12
	// foreignSmoothing is the time constant of the foreign part. The busy part is that of a second.
	foreignSmoothing = 2 * time.Second
	// stretchTime is the time in which the queue target changes by a factor of e at most, and
	// stretchRange the excess of the foreign part from which on it does.
	stretchTime  = 2 * time.Second
	stretchRange = 0.1
	// maxStretch is the greatest factor of the queue target.
	maxStretch = 16.0
)

// foreignAir follows the airtime that foreign traffic uses. The zero value is ready.
type foreignAir struct {
	part  float64 // of the airtime, smoothed; below 0 it counts as 0
	known bool    // the busy part of the time is known
	log   float64 // logarithm of the factor of the queue target, at least 0
}

// update takes the busy part of the time in a step of a length. 0: it is not known, and a foreign
// queue tells of such traffic.
func (f *foreignAir) update(elapsed time.Duration, busy float64, queue bool, s *cellState) {
	excess := -1.0
	switch {
	case busy > 0:
		gain := min(float64(elapsed)/float64(foreignSmoothing), 1)
		if !f.known {
			gain = 1
		}
		f.part += gain * (busy - s.airtime/s.efficiency() - f.part)
		if busy >= busyChannel {
			excess = min(max((f.part-foreignAirtime)/stretchRange, -1), 1)
		}
	case queue:
		excess = 1
	}
	f.known = busy > 0
	if !f.known {
		f.part = 0
	}
	f.log = min(max(f.log+excess*float64(elapsed)/float64(stretchTime), 0), math.Log(maxStretch))
}

// stretches reports whether the queue target is longer than that of participants alone.
func (f *foreignAir) stretches() bool { return f.log > 0 }

// factor returns the factor of the queue target.
func (f *foreignAir) factor() float64 { return math.Exp(f.log) }
