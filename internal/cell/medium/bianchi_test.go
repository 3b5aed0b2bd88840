package medium

import (
	"fmt"
	"math"
	"testing"
)

// bianchi is the saturation throughput of n equal stations by G. Bianchi, "Performance Analysis of
// the IEEE 802.11 Distributed Coordination Function", IEEE JSAC 18(3), 2000, in packets per second.
// Its chain has a stage for each attempt up to the one at which the contention window is reset, as
// H. Wu et al. extended it ("Performance of reliable transport protocol over IEEE 802.11 wireless
// LAN", INFOCOM 2002, section III).
func bianchi(n, cwMin, cwMax, stages int, slotNs, successNs, collisionNs float64) float64 {
	// tau is the probability that a station transmits in a slot, given that an attempt collides
	// with probability p: attempts over the slots that they take, both in means over the stages.
	tau := func(p float64) float64 {
		attempts := 0.0
		slots := 0.0
		reach := 1.0
		cw := cwMin
		for range stages {
			attempts += reach
			slots += reach * (float64(cw)/2 + 1)
			reach *= p
			cw = min(cwMax, 2*cw+1)
		}
		return attempts / slots
	}
	// The fixed point is unique, since tau falls with p and p rises with tau.
	low := 0.0
	high := 1.0
	for range 200 {
		p := (low + high) / 2
		if 1-math.Pow(1-tau(p), float64(n-1)) > p {
			low = p
		} else {
			high = p
		}
	}
	t := tau((low + high) / 2)
	none := math.Pow(1-t, float64(n))
	one := float64(n) * t * math.Pow(1-t, float64(n-1))
	slot := none*slotNs + one*successNs + (1-none-one)*collisionNs
	return one / slot * 1e9
}

func TestSaturationAgreesWithBianchi(t *testing.T) {
	cells := []struct {
		name   string
		band   Band
		phy    PHY
		stages int // attempts until the contention window is reset
	}{
		{"802.11n best effort, 72.2 Mbit/s, no aggregation", Band5GHz, must(AtRate(Std11n, 20, 1, 72.2)), 8},
		{"802.11a DCF, 24 Mbit/s", Band5GHz, must(Legacy(Std11a, 24)), 7},
		{"802.11g DCF, 54 Mbit/s", Band2GHz, must(Legacy(Std11g, 54)), 7},
		{"802.11b DCF, 11 Mbit/s", Band2GHz, must(Legacy(Std11b, 11)), 7},
	}
	for _, cell := range cells {
		for _, n := range []int{1, 2, 3, 5, 10, 20, 30, 40, 50} {
			t.Run(fmt.Sprintf("%s/n%d", cell.name, n), func(t *testing.T) {
				c := Config{Band: cell.band}
				for range n {
					c.Stations = append(c.Stations, saturated(cell.phy, Aggregation{}))
				}
				w := newWorld(t, c, uint64(n), 1)
				w.up = true
				w.start()
				const warm, until = int64(1e9), int64(21e9)
				w.measure(warm, until)
				packets := int64(0)
				for _, got := range w.got {
					packets += got
				}
				ours := float64(packets) / (float64(until-warm) / 1e9)

				con := &w.m.contenders[1]
				radio := &w.m.terminals[0].rates[0].radio
				data := float64(radio.frameNs(radio.mpduBytes(packetLength)))
				success := data + float64(w.m.sifsNs+radio.ackNs+con.aifsNs)
				analytic := bianchi(n, con.cwMin, con.cwMax, cell.stages, float64(con.slotNs), success,
					data+float64(con.aifsNs))
				deviation := ours/analytic - 1
				t.Logf("| %s | %d | %.2f | %.2f | %+.2f %% | collided %.3f |", cell.name, n, analytic*payload*8/1e6,
					ours*payload*8/1e6, 100*deviation, collidedShare(w.m.Station(0)))
				if math.Abs(deviation) > 0.03 {
					t.Errorf("%.0f packets/s, Bianchi's model says %.0f", ours, analytic)
				}
			})
		}
	}
}
