package cell

import (
	"fmt"
	"math"
	"testing"

	"airtide/internal/cell/medium"
	"airtide/test/ns3"
)

// reference is a row of saturating UDP.
type reference struct{ ns3.Row }

// config is the cell that the row describes.
func (r *reference) config() Config {
	kinds := map[string]struct {
		standard medium.Standard
		width    int
	}{"g": {medium.Std11g, 0}, "n20": {medium.Std11n, 20}, "n40": {medium.Std11n, 40}, "ac80": {medium.Std11ac, 80}}
	kind := kinds[r.PHY]
	streams := r.Streams
	if kind.standard == medium.Std11g {
		streams = 0
	}
	aggregation := Aggregation{Bytes: r.AMPDU}
	if r.AMPDU == 0 {
		aggregation.Frames = 1
	}
	var terminals []Terminal
	for i := range r.N + r.Slow {
		p := must(medium.AtRate(kind.standard, kind.width, streams, r.RateMbps))
		if i >= r.N {
			p = must(medium.AtRate(medium.Std11n, r.SlowWidth(), 1, r.SlowMbps))
		}
		t := Terminal{Name: fmt.Sprint("t", i), Radio: radio(p)}
		t.Radio.Aggregation = aggregation
		terminals = append(terminals, t)
	}
	c := gigabit(terminals...)
	// A packet takes 1500 bytes of that wire, with its point-to-point framing, and of this one
	// 1536.
	c.WireUp[0].Wire.RateBps = int64(r.WireMbps) * 1e6 * 1536 / 1500
	c.LeaveOutVHTSIGB = true
	c.AP.Aggregation = aggregation
	c.BlockAckRequest = !r.Has("bar=0")
	c.EIFSAfterCollision = r.Has("preambleDet=0")
	if kind.standard == medium.Std11g {
		c.Band = medium.Band2GHz
	}
	return c
}

// run is the goodput in Mbit/s with a seed, and each station's; one pair has none.
func (r *reference) run(t *testing.T, seed uint64) (mbps float64, stations []float64) {
	c := r.config()
	c.Seed = seed
	d := newDriver(t, c)
	for i := range r.N + r.Slow {
		switch r.Direction {
		case "up":
			d.saturated[i] = toServer
		case "down":
			d.down = append(d.down, i)
			d.downNs = wireNs
		case "s2s":
			d.saturated[0] = 1
		}
	}
	d.run(1e9)
	d.w.Begin(d.nowNs)
	from := d.status()
	d.run(5e9)
	w := Between(from, d.status())
	packets := w.AP.Radio.RateMbps
	switch r.Direction {
	case "up":
		packets = w.WireUp.RateMbps
		for _, terminal := range w.Terminals {
			stations = append(stations, terminal.Up.RateMbps)
		}
	case "down":
		for _, terminal := range w.Terminals {
			stations = append(stations, terminal.Down.RateMbps)
		}
	}
	return packets * payloadBytes / udpPacket, stations
}

// apart is by how much the shares of stations in their sum differ from the reference's at most. Its
// stations of a kind differ by chance, so each is held against the mean of its kind.
func (r *reference) apart(stations []float64) (apart float64) {
	for i, v := range stations {
		from := 0
		to := r.N
		if i >= r.N {
			from = r.N
			to = r.N + r.Slow
		}
		want := total(r.Stations[from:to]) / float64(to-from) / total(r.Stations)
		apart = max(apart, math.Abs(v/total(stations)/want-1))
	}
	return apart
}

func total(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

// mixedUp reports whether the row has fast and slow stations up together. The reference has one run
// of it. The winner is random there, and each access of a slow one costs eight of a fast one.
func (r *reference) mixedUp() bool {
	return r.Case == "D-mix65" && r.Direction == "up" && r.WireMbps == 1000
}

func TestUDPThroughTheWholeAgreesWithNS3(t *testing.T) {
	rows := ns3.Rows("udp")
	if len(rows) != 57 {
		t.Errorf("the reference has %d rows, not 57", len(rows))
	}
	for _, row := range rows {
		r := reference{row}
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			seeds := r.Seeds()
			allowed := 0.05
			if r.mixedUp() {
				allowed = 2 * 0.036 // the standard deviation of a run
			}
			mean := 0.0
			stations := make([]float64, r.N+r.Slow)
			for seed := range seeds {
				mbps, each := r.run(t, uint64(seed+1))
				mean += mbps / float64(seeds)
				for i, v := range each {
					stations[i] += v / float64(seeds)
				}
			}
			apart := 0.0
			if r.Direction != "s2s" {
				apart = r.apart(stations)
			}
			t.Logf("%.2f Mbit/s, reference %.2f (%+.1f %%), shares %.1f %% apart", mean, r.Goodput,
				100*(mean/r.Goodput-1), 100*apart)
			if math.Abs(mean/r.Goodput-1) > allowed {
				t.Errorf("goodput of %.2f Mbit/s, reference %.2f: more than %.1f %% apart", mean, r.Goodput,
					100*allowed)
			}
			if apart > 0.1 {
				t.Errorf("shares of %.3f and the reference's of %.3f are %.1f %% apart", stations, r.Stations,
					100*apart)
			}
		})
	}
}
