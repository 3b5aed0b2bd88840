package control

import (
	"testing"
	"time"
)

// A rate that is delivered for long raises the standalone rate. A burst, and a PHY rate that is
// told late, do not, and nothing lowers it.
func TestADeliveredRateRaisesTheStandaloneRate(t *testing.T) {
	var d delivered
	for _, c := range []struct {
		name             string
		rate, standalone float64
		length           time.Duration
		want             float64
	}{
		{"less than alone", 60e6, 100e6, 20 * time.Second, 1},
		{"a burst", 300e6, 100e6, 2 * time.Second, 1},
		{"after it", 100e6, 100e6, 20 * time.Second, 1},
		{"longer A-MPDUs", 125e6, 100e6, 11 * time.Second, 1.25},
		{"less again", 20e6, 100e6, 20 * time.Second, 1.25},
		{"an unknown rate", 200e6, 0, 20 * time.Second, 1.25},
		{"far more than any radio", 400e6, 100e6, 11 * time.Second, maxDelivered},
	} {
		for at := time.Duration(0); at < c.length; at += 100 * time.Millisecond {
			d.update(100*time.Millisecond, c.rate, c.standalone)
		}
		if got := d.factor(); got != c.want {
			t.Errorf("%s: a factor of %.2f, want %g", c.name, got, c.want)
		}
	}
}
