package cell

import (
	"encoding/json"
	"fmt"
	"testing"
)

// BenchmarkWorld carries UDP of saturated stations up and of the server down in virtual time.
func BenchmarkWorld(b *testing.B) {
	for _, n := range []int{4, 64} {
		b.Run(fmt.Sprint(n, " stations"), func(b *testing.B) {
			var terminals []Terminal
			for i := range n {
				terminals = append(terminals, Terminal{Name: fmt.Sprint("t", i), Radio: ac867()})
			}
			d := newDriver(b, gigabit(terminals...))
			for i := range n {
				d.saturated[i] = toServer
				d.down = append(d.down, i)
			}
			d.downNs = wireNs
			d.run(1e9)
			b.ReportAllocs()
			before := d.pushed
			for b.Loop() {
				d.run(d.nowNs + 1e7)
			}
			b.ReportMetric(float64(d.pushed-before)/b.Elapsed().Seconds(), "packets/s")
		})
	}
}

// BenchmarkObserve measures the cost of a status of 64 stations for the engine's thread, and
// BenchmarkEncode the cost for the thread beside it.
func BenchmarkObserve(b *testing.B) {
	d := busy(b)
	b.ReportAllocs()
	for b.Loop() {
		d.w.Observe(d.nowNs)
	}
}

func BenchmarkEncode(b *testing.B) {
	d := busy(b)
	d.w.Observe(d.nowNs)
	bytes := 0
	for b.Loop() {
		encoded, err := json.Marshal(d.w.Observation())
		if err != nil {
			b.Fatal(err)
		}
		bytes = len(encoded)
	}
	b.ReportMetric(float64(bytes), "bytes")
}

// busy are 64 stations after a second of saturation.
func busy(b *testing.B) *driver {
	var terminals []Terminal
	for i := range 64 {
		terminals = append(terminals, Terminal{Name: fmt.Sprint("t", i), Radio: ac867()})
	}
	d := newDriver(b, gigabit(terminals...))
	for i := range 64 {
		d.saturated[i] = toServer
	}
	d.run(1e9)
	return d
}
