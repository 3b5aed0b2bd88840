package simulate

import (
	"testing"
	"time"

	"airtide/internal/share/control"
)

// The access point's queue is shorter than the queue target. Without the rule its losses, and not
// the shares, decide the rates of downloads.
func TestLossesShortenTheQueueTarget(t *testing.T) {
	measure := func(off ...control.Rule) Result {
		s := Scenario{Seed: 1, APQueue: 50, Change: func(c *control.Config) { c.Options.Disable = off }}
		for _, mbps := range []float64{866.7, 433.3, 65, 65} {
			s.Stations = append(s.Stations, downloads(t, mbps, 20*time.Millisecond, 3))
		}
		return run(t, s, true, 10*time.Second, 25*time.Second)
	}
	with := measure()
	without := measure(control.Losses)
	if with.Jain < without.Jain+0.1 || with.Total < 1.1*without.Total {
		t.Errorf("indices of %.3f with the rule and %.3f without, totals of %.1f and %.1f Mbit/s",
			with.Jain, without.Jain, with.Total/1e6, without.Total/1e6)
	}
}
