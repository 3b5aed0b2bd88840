package control

import (
	"math"
	"testing"
	"time"
)

// TestEqualCapIsTheFormula: W = B/n x RTTmin / (8 MSS) packets, scaled by RTTmin / RTT, of which
// EqualCap has bytes.
func TestEqualCapIsTheFormula(t *testing.T) {
	const mss = 1448.0
	for _, c := range []struct {
		capacity    float64 // B in bit/s
		terminals   int     // n
		minRTT, rtt time.Duration
		packets     float64 // W
	}{
		{100e6, 1, 20 * ms, 20 * ms, 172.65},
		{100e6, 4, 20 * ms, 20 * ms, 43.16},
		{100e6, 4, 20 * ms, 40 * ms, 21.58},
		{100e6, 4, 20 * ms, 200 * ms, 4.316},
		{1e9, 4, 2 * ms, 2 * ms, 43.16},
		{1e9, 10, 256 * ms, 512 * ms, 1104.97},
		// Without a mean, or with one below the smallest, nothing is taken off.
		{100e6, 4, 20 * ms, 0, 43.16},
		{100e6, 4, 20 * ms, 10 * ms, 43.16},
		{100e6, 4, 0, 40 * ms, 0},
	} {
		got := EqualCap(c.capacity/float64(c.terminals), c.minRTT, c.rtt) / mss
		if math.Abs(got-c.packets) > 0.0005*c.packets {
			t.Errorf("%+v: %.4g packets", c, got)
		}
	}
}

// TestEqualRangeIsTheFormula: W = B/n x RTT / (8 MSS) packets at least, and 1.25 times as many at
// most, for any smallest RTT.
func TestEqualRangeIsTheFormula(t *testing.T) {
	const mss = 1448.0
	for _, c := range []struct {
		capacity  float64 // B in bit/s
		terminals int     // n
		rtt       time.Duration
		packets   float64 // W
	}{
		{100e6, 1, 20 * ms, 172.65},
		{100e6, 4, 20 * ms, 43.16},
		{100e6, 4, 200 * ms, 431.6},
		{1e9, 4, 2 * ms, 43.16},
		{1e9, 4, 0, 0},
	} {
		least, greatest := EqualRange(c.capacity/float64(c.terminals), c.rtt)
		for what, got := range map[float64]float64{1: least, 1.25: greatest} {
			if math.Abs(got/mss-what*c.packets) > 0.0005*c.packets*what {
				t.Errorf("%+v: %.4g packets, want %.4g", c, got/mss, what*c.packets)
			}
		}
	}
}
