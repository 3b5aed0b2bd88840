package flow

import (
	"testing"
	"time"
)

// Small answers at the start of an upload do not count as a download. Otherwise half of the share
// would be kept for them.
func TestSmallAnswersAreNotGreedy(t *testing.T) {
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
		f := &Flow{}
		f.updateReceive(step, gain, &Sample{ReceiveRate: c.down})
		if greedy := step < f.Receive.GreedyUntil; greedy != c.greedy {
			t.Errorf("%s: greedy is %t", c.name, greedy)
		}
		if c.down == 0 {
			continue
		}
		// Later, only the use of its window shows whether a bounded flow is greedy.
		f.ReceiveBound = 1 << 20
		f.updateReceive(step+2*greedyTime, gain, &Sample{ReceiveRate: 50e6, ReceiveWindow: WindowSample{InUse: 0.1}})
		if now := step + 2*greedyTime; now < f.Receive.GreedyUntil {
			t.Errorf("%s: greedy later, with an unused window", c.name)
		}
		f.updateReceive(step+3*greedyTime, gain, &Sample{ReceiveRate: 50e6, ReceiveWindow: WindowSample{InUse: 0.5}})
		if now := step + 3*greedyTime; now >= f.Receive.GreedyUntil {
			t.Errorf("%s: not greedy later, with a used window", c.name)
		}
	}
}
