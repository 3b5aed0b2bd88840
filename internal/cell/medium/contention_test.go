package medium

import (
	"fmt"
	"testing"

	"airtide/internal/share/fairness"
)

// TestAdaptiveWindowsKeepCollisionsRare: stations that send PPDUs of 1 ms carry at least what they
// do with windows that double, and more if they are many. They collide rarely and share evenly.
func TestAdaptiveWindowsKeepCollisionsRare(t *testing.T) {
	for _, n := range []int{1, 2, 5, 10, 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			measured := func(adaptive bool) (packets int64, collided, index float64) {
				c := Config{Band: Band5GHz, AdaptiveWindows: adaptive}
				for range n {
					phy := must(AtRate(Std11ac, 80, 1, 433.3))
					c.Stations = append(c.Stations, saturated(phy, Aggregation{Bytes: 1 << 20, AirtimeNs: 1e6}))
				}
				w := newWorld(t, c, uint64(n), 1)
				w.up = true
				w.start()
				w.measure(1e9, 11e9)
				rates := make([]float64, n)
				for i, got := range w.got {
					packets += got
					rates[i] = float64(got)
				}
				return packets, collidedShare(w.m.Station(0)), fairness.Jain(rates)
			}
			before, collidedBefore, _ := measured(false)
			after, collided, index := measured(true)
			least := 0.98
			if n >= 10 {
				least = 1.05
			}
			if gain := float64(after) / float64(before); gain < least {
				t.Errorf("%.3f times the throughput of windows that double, want at least %.2f", gain, least)
			}
			if collided > 0.12 || collided > collidedBefore+0.01 {
				t.Errorf("%.3f of the transmissions collide, %.3f with windows that double", collided, collidedBefore)
			}
			if index < 0.97 {
				t.Errorf("Jain's index of the stations is %.3f", index)
			}
		})
	}
}

// TestAdaptiveWindowsShrinkWhenStationsLeave: the window follows the medium down, too.
func TestAdaptiveWindowsShrinkWhenStationsLeave(t *testing.T) {
	c := contention{window: leastWindow, most: 1023}
	hear := func(stations int) {
		for range 10_000 {
			c.heard(int64(c.window) / int64(2*stations))
		}
	}
	hear(20)
	many := c.window
	hear(2)
	if few := c.window; many < 300 || few > many/5 || few < leastWindow {
		t.Errorf("windows of %.0f slots among 20 and %.0f among 2", many, few)
	}
}
