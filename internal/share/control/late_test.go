package control

import (
	"math"
	"testing"
	"time"

	"airtide/internal/share/allocate"
)

// TestNoWireIsFoundByOldReports: sixteen begin together, and the rates of others are known late.
// With queues it looks as if a wire limited.
func TestNoWireIsFoundByOldReports(t *testing.T) {
	for period, want := range map[time.Duration]time.Duration{
		100 * time.Millisecond: startTime + 100*time.Millisecond + wireConfirm,
		2 * time.Second:        startTime + 2*time.Second + wireConfirm,
		time.Minute:            startTime + maxReportAge + wireConfirm,
	} {
		c := NewShareController(Options{})
		all := make([]Terminal, 16)
		for i := range all {
			all[i] = Terminal{
				Max: 338e6, Demand: allocate.Unlimited, MinRTT: 3 * time.Millisecond, RTT: 80 * time.Millisecond,
				Rate: 5e6, Period: period,
			}
		}
		all[0].Rate = 0
		all[0].Period = 0
		const step = 100 * time.Millisecond
		found := time.Duration(0)
		for now := step; found == 0 && now < 20*time.Second; now += step {
			d, err := c.Step(now, 0, all)
			if err != nil {
				t.Fatal(err)
			}
			if !math.IsInf(d.Capacity, 1) {
				found = now
			}
			all[0].Rate = 15e6
		}
		if found < want || found > want+3*step {
			t.Errorf("with reports every %s a wire is found after %s, want %s", period, found, want)
		}
	}
}
