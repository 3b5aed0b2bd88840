package cell

import (
	"fmt"
	"math"
	"testing"

	"airtide/internal/cell/medium"
)

// TestWhoGetsTheAirtime sends more than fits to two fast and two slow stations.
func TestWhoGetsTheAirtime(t *testing.T) {
	for _, c := range []struct {
		discipline Discipline
		airtime    bool // equal airtime, otherwise equal rates
	}{
		{FIFO, false},
		{AirtimeFair, true},
	} {
		t.Run(string(c.discipline), func(t *testing.T) {
			var terminals []Terminal
			for i := range 4 {
				r := ac867()
				if i >= 2 {
					r = radio(must(medium.AtRate(medium.Std11n, 20, 1, 65)))
				}
				terminals = append(terminals, Terminal{Name: fmt.Sprint("t", i), Radio: r})
			}
			config := gigabit(terminals...)
			config.AP.Discipline = c.discipline
			d := newDriver(t, config)
			d.down, d.downNs = []int{0, 1, 2, 3}, wireNs
			d.run(1e9)
			from := d.status()
			d.run(6e9)
			w := Between(from, d.status())
			for i := range w.Terminals {
				air := w.Terminals[i].AirtimePercent / w.AP.Radio.AirtimePercent
				rate := w.Terminals[i].Down.RateMbps / w.AP.Radio.RateMbps
				share := rate
				if c.airtime {
					share = air
				}
				if math.Abs(share-0.25) > 0.02 {
					t.Errorf("%s has %.3f of the airtime and %.3f of the rate", w.Terminals[i].Name, air, rate)
				}
			}
			if anomaly := w.AP.Radio.RateMbps < 120; anomaly == c.airtime {
				t.Errorf("%.0f Mbit/s in sum", w.AP.Radio.RateMbps)
			}
		})
	}
}
