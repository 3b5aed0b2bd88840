package control

import (
	"testing"
	"time"
)

// A sender that waits for bursts does not fill its window. The floor's windows grow until they
// carry a little more than its rate, since a rate that varies around the floor is below it half of
// the time. So do they if other bounds are the greater ones and carry less, and they are those of
// the floor again once these carry more.
func TestTheFloorGrowsUntilItIsCarried(t *testing.T) {
	const step = 100 * time.Millisecond
	for full, want := range map[float64]float64{1: 1.05, 0.75: 1.05, 0.4: 0.8} {
		var f floor
		for range 100 {
			f.update(step, 0, true, 1/(full*f.factor()))
		}
		if carried := full * f.factor(); carried < 0.99*want || carried > 1.01*want {
			t.Errorf("windows that are full to %.2f carry %.2f of the floor, want %.2f", full, carried, want)
		}
		f.update(step, 0, true, 0) // no greedy flow
		if carried := full * f.factor(); carried < 0.99*want {
			t.Errorf("without a greedy flow windows that are full to %.2f carry %.2f of the floor", full, carried)
		}
		f = floor{}
		for i := range 100 { // other bounds are the greater ones every other step
			f.update(step, 0, i%2 == 0, 1/(full*f.factor()))
		}
		if carried := full * f.factor(); carried < 0.99*want || carried > 1.01*want {
			t.Errorf("beside other bounds windows that are full to %.2f carry %.2f of the floor", full, carried)
		}
		for range 100 {
			f.update(step, 0, false, 0.5)
		}
		if f.factor() != 1 {
			t.Errorf("behind other bounds the windows are %.2f times those of the floor", f.factor())
		}
	}
}
