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
			d.down = []int{0, 1, 2, 3}
			d.downNs = wireNs
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

// TestFairAirtimeCountsAcknowledgements: of two stations alike one answers each datagram with a
// packet of 52 bytes, as TCP acknowledges. With equal airtime its answers are charged to it, so it
// receives less; with equal turns both receive the same.
func TestFairAirtimeCountsAcknowledgements(t *testing.T) {
	for _, discipline := range []Discipline{FQCoDel, AirtimeFair} {
		t.Run(string(discipline), func(t *testing.T) {
			var terminals []Terminal
			for i := range 2 {
				terminals = append(terminals, Terminal{
					Name: fmt.Sprint("t", i), Radio: radio(must(medium.AtRate(medium.Std11n, 20, 1, 65))),
				})
			}
			config := gigabit(terminals...)
			config.AP.Discipline = discipline
			d := newDriver(t, config)
			d.down = []int{0, 1}
			d.downNs = wireNs
			answered := int64(0)
			until := func(ns int64) {
				for d.nowNs < ns {
					d.run(d.nowNs + 1e6)
					for ; answered < d.delivered[0] && d.w.Room(0) > 0; answered++ {
						d.send(0, toServer, 52)
					}
				}
			}
			until(1e9)
			from := d.status()
			until(11e9)
			w := Between(from, d.status())
			air := w.Terminals[0].AirtimePercent / (w.Terminals[0].AirtimePercent + w.Terminals[1].AirtimePercent)
			received := w.Terminals[0].Down.RateMbps / w.Terminals[1].Down.RateMbps
			switch {
			case discipline == FQCoDel && math.Abs(received-1) > 0.03:
				t.Errorf("by turns the one that answers receives %.3f times the other's rate", received)
			case discipline == AirtimeFair && (math.Abs(air-0.5) > 0.02 || received > 0.97):
				t.Errorf("the one that answers has %.3f of the airtime and %.3f times the other's rate", air, received)
			}
			t.Logf("airtime %.3f, rate %.3f", air, received)
		})
	}
}
