package cell

import (
	"fmt"
	"math"
	"testing"

	"airtide/cell/medium"
	"airtide/internal/ns3"
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
	// A packet takes 1500 bytes of that wire, with its point-to-point framing, and of this one 1536.
	c.WireUp[0].Wire.RateBps = int64(r.WireMbps) * 1e6 * 1536 / 1500
	c.LeaveOutVHTSIGB, c.AP.Aggregation = true, aggregation
	c.BlockAckRequest, c.EIFSAfterCollision = !r.Has("bar=0"), r.Has("preambleDet=0")
	if kind.standard == medium.Std11g {
		c.Band = medium.Band2GHz
	}
	return c
}

// run is the goodput in Mbit/s with a seed.
func (r *reference) run(t *testing.T, seed uint64) float64 {
	c := r.config()
	c.Seed = seed
	d := newDriver(t, c)
	stations := r.N + r.Slow
	for i := range stations {
		switch r.Direction {
		case "up":
			d.saturated[i] = toServer
		case "down":
			d.down, d.downNs = append(d.down, i), wireNs
		case "s2s":
			d.saturated[0] = 1
		}
	}
	d.run(1e9)
	d.w.Begin(d.nowNs)
	from := d.status()
	d.run(5e9)
	w := Between(from, d.status())
	packets := w.WireUp.RateMbps
	if r.Direction != "up" {
		packets = w.AP.Radio.RateMbps
	}
	return packets * payloadBytes / udpPacket
}

func TestUDPThroughTheWholeAgreesWithNS3(t *testing.T) {
	tried := 0
	for _, row := range ns3.Rows("udp") {
		r := reference{row}
		tried++
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			seeds := 2
			if r.N > 0 && r.Slow > 0 && r.Direction == "up" {
				seeds = 12 // who wins is chance, and each access of a slow one costs eight of a fast one
			}
			var sum, squares float64
			for seed := range seeds {
				mbps := r.run(t, uint64(seed+1))
				sum, squares = sum+mbps, squares+mbps*mbps
			}
			n := float64(seeds)
			mean := sum / n
			deviation := math.Sqrt(max(0, squares/n-mean*mean) * n / (n - 1))
			// The reference's own mean is as uncertain as its runs are few.
			allowed := max(0.05, 2*deviation/mean/math.Sqrt(float64(r.Runs)))
			t.Logf("%.2f Mbit/s, reference %.2f (%+.1f %%)", mean, r.Goodput, 100*(mean/r.Goodput-1))
			if math.Abs(mean/r.Goodput-1) > allowed {
				t.Errorf("goodput of %.2f Mbit/s, reference %.2f: more than %.1f %% apart", mean, r.Goodput, 100*allowed)
			}
		})
	}
	if tried == 0 {
		t.Error("the reference has no row for this test")
	}
}
