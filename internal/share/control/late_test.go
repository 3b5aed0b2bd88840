package control

import (
	"math"
	"testing"
	"time"

	"airtide/internal/share/allocate"
)

// TestOnALongPathWindowsGrowInBurstsThatAreNoWire's queue: what they make for is a part of the
// round trip.
func TestOnALongPathWindowsGrowInBurstsThatAreNoWire(t *testing.T) {
	for _, c := range []struct {
		base, delay time.Duration
		wire        bool
	}{
		{2 * time.Millisecond, 20 * time.Millisecond, true},
		{200 * time.Millisecond, 20 * time.Millisecond, false},
		{200 * time.Millisecond, 100 * time.Millisecond, true},
	} {
		k := NewShareController(Options{})
		// The first one's window grows.
		all := greedyAt([]float64{599e6, 338e6, 52e6, 52e6}, []float64{20e6, 50e6, 9e6, 9e6}, c.base, c.base+c.delay)
		wire := false
		for now := time.Duration(0); now < 10*time.Second; now += 100 * time.Millisecond {
			d, err := k.Step(now, 0, all)
			if err != nil {
				t.Fatal(err)
			}
			wire = wire || !math.IsInf(d.Capacity, 1)
		}
		if wire != c.wire {
			t.Errorf("queues of %s on a path of %s: a wire is found %t, want %t", c.delay, c.base, wire, c.wire)
		}
	}
}

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
