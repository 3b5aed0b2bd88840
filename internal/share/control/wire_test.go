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

// TestAWireThatDeliversLittleIsRefuted: beside traffic that nobody knows of, airtime seems free and
// queues stand. A capacity that is found then bounds the windows, the total falls, and with it the
// capacity.
func TestAWireThatDeliversLittleIsRefuted(t *testing.T) {
	const queued = 70 * time.Millisecond
	var r wireRun
	believed := func() bool { return !math.IsInf(r.capacity, 1) }
	r.run(100e6, queued, 2*time.Second)
	if !believed() {
		t.Fatal("no wire is found")
	}
	r.run(60e6, queued, 4*time.Second)
	if !believed() {
		t.Fatal("a wire that delivers 0.6 of its capacity is refuted")
	}
	for _, wait := range []time.Duration{30, 60, 120, 240, 300, 300} {
		r.run(100e6, queued, 2*time.Second)
		if !believed() {
			t.Fatalf("no wire is found before a wait of %d s", wait)
		}
		r.run(40e6, queued, 3*time.Second)
		refuted := r.wire.refutedUntil - wait*time.Second
		if believed() || refuted < r.now-3*time.Second || refuted > r.now {
			t.Fatalf("40 of 100 Mbit/s: a wire of %.3g bit/s, refuted at %s, which is not in the last 3 s of %s",
				r.capacity, refuted, r.now)
		}
		r.run(100e6, queued, r.wire.refutedUntil-r.now)
		if believed() {
			t.Fatalf("a wire is believed within %d s", wait)
		}
	}
}

// TestAShortQueueRefutesNoWire: the total of a wire without queues falls with the demand.
func TestAShortQueueRefutesNoWire(t *testing.T) {
	var r wireRun
	r.run(100e6, 70*time.Millisecond, 2*time.Second)
	r.run(10e6, 5*time.Millisecond, 5*time.Second)
	if math.IsInf(r.capacity, 1) || r.wire.refutedUntil != 0 {
		t.Errorf("a wire without queues has a capacity of %.3g bit/s and is refuted until %s",
			r.capacity, r.wire.refutedUntil)
	}
}
