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
}

func (r *wireRun) run(total float64, delay, length time.Duration) {
	for end := r.now + length; r.now < end; r.now += 100 * time.Millisecond {
		s := cellState{
			active: 4, total: total, airtime: 0.5, delay: delay, ownDelay: delay,
			base: 2 * time.Millisecond, standaloneSum: 1e9,
		}
		r.capacity = r.wire.update(r.now, s, 30*time.Millisecond, false)
	}
}

// up to a total that the wire never carried.
func TestAPeakOfReportsIsForgotten(t *testing.T) {
	const carries = 94e6
	var r wireRun
	const queued, short = 70 * time.Millisecond, 5 * time.Millisecond
	r.run(carries, queued, 3*time.Second)
	if math.Abs(r.capacity/carries-1) > 0.01 {
		t.Fatalf("the wire is taken to carry %.1f Mbit/s, want %.1f", r.capacity/1e6, carries/1e6)
	}
	r.run(1.2*carries, queued, time.Second)
	peak := r.capacity
	r.run(carries, short, 2*time.Second)
	if peak < 1.12*carries || r.capacity != peak {
		t.Errorf("%.1f Mbit/s after a peak, and %.1f without queues, which must not matter", peak/1e6, r.capacity/1e6)
	}
	r.run(carries, queued, 3*time.Second)
	if r.capacity < carries || r.capacity > 1.07*carries {
		t.Errorf("a wire of %.1f Mbit/s 3 s after a peak, want %.1f to 7 %% more", r.capacity/1e6, carries/1e6)
	}
}
