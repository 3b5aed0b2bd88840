package control

import (
	"testing"
	"time"
)

// TestLossesShortenTheQueueTarget, to half of it at most, until they are past.
func TestLossesShortenTheQueueTarget(t *testing.T) {
	const step = 100 * time.Millisecond
	for _, c := range []struct {
		name        string
		every       int // of so many steps one has losses; 0: none
		least, most float64
	}{
		{"no losses", 0, 1, 1},
		{"losses in each step", 1, leastByLosses, leastByLosses},
		{"losses every second", 10, 0.8, 0.95},
		{"losses five times a second", 2, leastByLosses, leastByLosses * 1.1},
	} {
		var l losses
		for i := 1; i <= 100; i++ {
			l.update(step, c.every > 0 && i%c.every == 0)
		}
		if got := l.factor(); got < 0.999*c.least || got > c.most {
			t.Errorf("%s: a factor of %.2f, want %.2f to %.2f", c.name, got, c.least, c.most)
		}
		for range 100 {
			l.update(step, false)
		}
		if got := l.factor(); got != 1 {
			t.Errorf("%s: a factor of %.2f long after", c.name, got)
		}
	}
}
