package medium

import (
	"fmt"
	"testing"
)

// BenchmarkMedium measures the frames (MPDUs) that a saturated cell carries per second of
// computing, with collided ones and repetitions, and the PPDUs.
func BenchmarkMedium(b *testing.B) {
	g54 := must(Legacy(Std11g, 54))
	n72 := must(AtRate(Std11n, 20, 1, 72.2))
	for _, c := range []struct {
		name  string
		band  Band
		phy   PHY
		limit Aggregation
	}{
		{"g", Band2GHz, g54, Aggregation{}},
		{"n-without-aggregation", Band5GHz, n72, Aggregation{}},
		{"n", Band5GHz, n72, Aggregation{Bytes: 65535}},
		{"ac", Band5GHz, ac866, Aggregation{Bytes: 1 << 20}},
	} {
		for _, n := range []int{1, 4, 16, 64} {
			b.Run(fmt.Sprintf("%s/stations-%d", c.name, n), func(b *testing.B) {
				config := Config{Band: c.band, Stations: stations(n, c.phy, c.limit)}
				w := newWorld(b, config, 1, 1)
				w.up = true
				w.start()
				now := int64(1e9)
				w.measure(now, now)
				for b.Loop() {
					now += 10e6
					w.m.Advance(now)
				}
				var frames, ppdus int64
				for i := range n {
					frames += w.m.Station(i).Frames
					ppdus += w.m.Station(i).PPDUs
				}
				seconds := b.Elapsed().Seconds()
				b.ReportMetric(float64(frames)/seconds, "frames/s")
				b.ReportMetric(float64(ppdus)/seconds, "PPDUs/s")
				b.ReportMetric(float64(now-1e9)/1e9/seconds, "virtual-s/s")
			})
		}
	}
}
