package control

import (
	"testing"
	"time"
)

// Whatever the delay of the own packets, a quarter of the floor stays. Without a delay, or where
// other rules make the windows, all of it comes back within half a minute.
func TestAQuarterOfTheFloorStays(t *testing.T) {
	const step = 100 * time.Millisecond
	for _, ends := range []struct {
		delay time.Duration
		binds bool
	}{{0, true}, {time.Minute, false}} {
		var f floor
		for range 10 * 60 {
			f.update(step, time.Minute, true, 0)
			if part := f.part(); part < 0.25 || part > 1 {
				t.Fatalf("%.3f of the floor is left, want at least a quarter", part)
			}
		}
		if part := f.part(); part > 0.26 {
			t.Errorf("a delay leaves %.3f of the floor, which tests nothing", part)
		}
		for range 10 * 30 {
			f.update(step, ends.delay, ends.binds, 0)
		}
		if part := f.part(); part < 0.99 {
			t.Errorf("half a minute later %.3f of the floor holds", part)
		}
	}
}
