package share

import (
	"testing"
	"time"

	"airtide/internal/share/own"
	"airtide/internal/share/rwnd"
)

// TestAnswersAreNoDownload: half of the share would be kept for them, while an upload begins.
func TestAnswersAreNoDownload(t *testing.T) {
	const step, gain = 100 * time.Millisecond, 0.3
	for _, c := range []struct {
		name   string
		down   float64 // bit/s
		greedy bool
	}{
		{"the answer to a request of 400 bytes", 400 * 8 / step.Seconds(), false},
		{"the first two packets of a download", 2 * 1448 * 8 / step.Seconds(), true},
		{"nothing yet", 0, false},
	} {
		f := &flow{}
		f.received(step, gain, &own.Flow{Down: c.down}, rwnd.Seen{})
		if greedy := step < f.down.greedyUntil; greedy != c.greedy {
			t.Errorf("%s: wants more is %t", c.name, greedy)
		}
		if c.down == 0 {
			continue
		}
		// Later what is bounded shows by its window alone whether there is more.
		f.bound = 1 << 20
		f.received(step+2*greedyFor, gain, &own.Flow{Down: 50e6}, rwnd.Seen{InUse: 0.1})
		if now := step + 2*greedyFor; now < f.down.greedyUntil {
			t.Errorf("%s: wants more later, with a window that is not used", c.name)
		}
		f.received(step+3*greedyFor, gain, &own.Flow{Down: 50e6}, rwnd.Seen{InUse: 0.5})
		if now := step + 3*greedyFor; now >= f.down.greedyUntil {
			t.Errorf("%s: does not want more later, with a window that is used", c.name)
		}
	}
}
