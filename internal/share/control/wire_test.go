package control

import (
	"math"
	"testing"
	"time"
)

// wireRun drives the estimator of the wire with one state of the cell at a time.
type wireRun struct {
	wire     wire
	now      time.Duration
	capacity float64
	busy     float64 // busy part of the channel's time
}

func (r *wireRun) run(total float64, delay, length time.Duration) {
	for end := r.now + length; r.now < end; r.now += 100 * time.Millisecond {
		s := cellState{
			active: 4, total: total, airtime: 0.5, delay: delay, ownDelay: delay,
			base: 2 * time.Millisecond, standaloneSum: 1e9,
			busy: r.busy,
		}
		r.capacity = r.wire.update(r.now, s, 30*time.Millisecond, false)
	}
}

// TestAWireWithoutQueuesIsBelieved: its total falls with the demand.
func TestAWireWithoutQueuesIsBelieved(t *testing.T) {
	var r wireRun
	r.run(100e6, 70*time.Millisecond, 2*time.Second)
	r.run(10e6, 5*time.Millisecond, 5*time.Second)
	if math.IsInf(r.capacity, 1) {
		t.Error("a wire without queues is no longer believed")
	}
}

// TestAWireThatLeavesNoQueueIsNone: its capacity was a total that grew. While less of it is in use
// nothing is learned, and while a queue stands it limits.
func TestAWireThatLeavesNoQueueIsNone(t *testing.T) {
	for _, c := range []struct {
		total    float64 // in bit/s, after a capacity of 100 Mbit/s was found
		delay    time.Duration
		believed bool
	}{
		{95e6, 5 * time.Millisecond, false},
		{95e6, 20 * time.Millisecond, true},
		{70e6, 5 * time.Millisecond, true},
	} {
		var r wireRun
		r.run(100e6, 70*time.Millisecond, 2*time.Second)
		r.run(c.total, c.delay, 6*time.Second)
		if believed := !math.IsInf(r.capacity, 1); believed != c.believed {
			t.Errorf("%.0f Mbit/s with a delay of %s: a wire is believed: %v", c.total/1e6, c.delay, believed)
		}
	}
}
