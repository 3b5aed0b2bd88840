package medium

import "testing"

// With RTS a collision costs an RTS, so many contenders with long A-MPDUs carry more. One alone
// carries less, by the time of RTS and CTS.
func TestRTSMakesCollisionsShort(t *testing.T) {
	carried := func(stations, rts int) (bps float64, collided float64) {
		config := Config{RTSBytes: rts}
		for range stations {
			config.Stations = append(config.Stations, saturated(ac866, Aggregation{Bytes: 1 << 20}))
		}
		w := newWorld(t, config, 1, 1)
		w.up = true
		w.start()
		w.measure(1e9, 3e9)
		collisions := int64(0)
		airtime := int64(0)
		exchanges := int64(0)
		for i := range stations {
			c := w.m.Station(i)
			bps += float64(c.DeliveredBytes) * 8 / 2
			collisions += c.Collisions
			exchanges += c.PPDUs
			airtime += c.AirtimeNs
		}
		if stations == 1 && airtime > 2.01e9 {
			t.Errorf("RTS from %d bytes on: an airtime of %.2f s in 2 s", rts, float64(airtime)/1e9)
		}
		return bps, float64(collisions) / float64(exchanges)
	}
	alone, _ := carried(1, 0)
	aloneRTS, _ := carried(1, 1000)
	// RTS and CTS at 24 Mbit/s last 28 us each, and two SIFS 32 us, of an exchange of 1.1 ms.
	if part := aloneRTS / alone; part < 0.9 || part > 0.94 {
		t.Errorf("alone, RTS leaves %.3f of the rate", part)
	}
	many, collided := carried(16, 0)
	manyRTS, collidedRTS := carried(16, 1000)
	if manyRTS < 1.2*many {
		t.Errorf("16 carry %.0f Mbit/s with RTS, and %.0f without", manyRTS/1e6, many/1e6)
	}
	if collided < 0.2 || collidedRTS < 0.2 {
		t.Errorf("%.2f of the PPDUs collide, and %.2f of those with RTS", collided, collidedRTS)
	}
	if same, _ := carried(16, 1<<20); same != many {
		t.Errorf("A-MPDUs below the threshold carry %g, and without RTS %g", same, many)
	}
}
