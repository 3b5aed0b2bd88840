package control

import (
	"math"
	"testing"
	"time"
)

// The queue target grows to its limit while the channel is busy and the participants need little of
// it, and falls again when they need what is busy.
func TestForeignAirtimeStretchesTheQueueTarget(t *testing.T) {
	var f foreignAir
	run := func(busy, airtime float64, queue bool, length time.Duration) {
		s := cellState{active: 1, airtime: airtime}
		for at := time.Duration(0); at < length; at += 100 * time.Millisecond {
			f.update(100*time.Millisecond, busy, queue, &s)
		}
	}
	for _, c := range []struct {
		name          string
		busy, airtime float64
		queue         bool
		least, most   float64
	}{
		{"the participants need all", 0.95, 0.95, false, 1, 1},
		{"they need less than a busy channel has", 0.95, 0.4, false, maxStretch, maxStretch},
		{"foreign traffic has ended", 0.5, 0.5, false, 1, 1},
		{"foreign traffic of another part", 0.9, 0.5, false, maxStretch, maxStretch},
		{"a channel that is not known to be busy", 0, 0.4, false, 1, 1},
		{"a foreign queue on such a channel", 0, 0.4, true, maxStretch, maxStretch},
		{"a channel that is free", 0.3, 0.3, true, 1, 1},
		{"short A-MPDUs on a channel that is free", 0.72, 0.45, false, 1, 1},
	} {
		run(c.busy, c.airtime, c.queue, 20*time.Second)
		if got := f.factor(); got < c.least*0.999 || got > c.most*1.001 || f.stretches() != (c.most > 1) {
			t.Errorf("%s: factor %.2f, want %g to %g", c.name, got, c.least, c.most)
		}
	}
}

// Queues on a busy channel are no sign of a wire, though the rates need little airtime.
func TestNoWireIsFoundOnABusyChannel(t *testing.T) {
	const queued = 70 * time.Millisecond
	for _, c := range []struct {
		busy     float64
		believed bool
	}{{0, true}, {0.6, true}, {0.95, false}} {
		w := wireRun{busy: c.busy}
		w.run(100e6, queued, 5*time.Second)
		if believed := !math.IsInf(w.capacity, 1); believed != c.believed {
			t.Errorf("a channel that is busy for %g of the time: a wire is believed: %v", c.busy, believed)
		}
	}
}
