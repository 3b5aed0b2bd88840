package path

import (
	"math/rand/v2"
	"testing"

	"airtide/internal/cell/queue"
)

// A benchmark's operation is one packet from Push to Deliver over a wire of 1 Gbit/s at 95 % load,
// some 800 under way.
func BenchmarkPath(b *testing.B) {
	delay := Line{DelayNs: 10e6}
	for _, c := range []struct {
		name      string
		terminals int
		line      Line
	}{
		{"constant delay", 1, delay},
		{"constant delay, 64 terminals", 64, delay},
		{
			"Gilbert-Elliott loss", 1,
			Line{DelayNs: 10e6, Loss: Loss{Gilbert: GilbertElliott{P: 0.01, R: 0.3, LossBad: 1}}},
		},
		{"jitter in order", 1, Line{DelayNs: 10e6, Jitter: Jitter{Ns: 2e6, Distribution: Normal}}},
		{
			"jitter that reorders", 1,
			Line{DelayNs: 10e6, Jitter: Jitter{Ns: 2e6, Distribution: Normal, MayReorder: true}},
		},
		{"jitter that reorders, 64 terminals", 64, Line{DelayNs: 10e6, Jitter: Jitter{Ns: 2e6, MayReorder: true}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			config := Config{Wire: Wire{RateBps: 1e9, Limit: queue.Limit{Packets: 1000}}}
			var packets []*queue.Packet
			for s := range c.terminals {
				config.Lines = append(config.Lines, c.line)
				packets = append(packets, &queue.Packet{Station: s, Length: 1500})
			}
			p, err := New(
				config, rand.NewPCG(1, 2),
				Callbacks{Deliver: func(*queue.Packet, int64) {}, Drop: func(*queue.Packet, queue.Place, int64) {}},
			)
			if err != nil {
				b.Fatal(err)
			}
			nowNs := int64(0)
			send := func(n int) {
				p.Push(packets[n%c.terminals], nowNs)
				nowNs += 12952
				p.Advance(nowNs)
			}
			for n := range 10000 {
				send(n)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := range b.N {
				send(n)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
		})
	}
}
