package clock

import "testing"

func TestTickRate(t *testing.T) {
	for _, hz := range rates {
		for _, up := range []float64{1, 60, 298, 302, 86400, 3e7} {
			jiffies := -300*int64(hz) + int64(up*float64(hz))
			for _, late := range []float64{0, 0.004, 0.1} {
				if got, clear := tickRate(uint32(jiffies), int64((up+late)*1e9)); got != hz || !clear {
					t.Errorf("%d ticks a second, %g s after boot, read %g s apart: found %d, %v", hz, up, late, got,
						clear)
				}
			}
		}
		if got, clear := tickRate(0, 300e9); clear {
			t.Errorf("300 s after boot it is %d for certain", got)
		}
	}
}
