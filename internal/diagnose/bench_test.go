package diagnose

import (
	"fmt"
	"runtime"
	"testing"

	"airtide/internal/tcp"
)

// BenchmarkEngine measures the time for a sample. Ten million samples in 5 s are 500 ns.
func BenchmarkEngine(b *testing.B) {
	for _, flows := range []int64{1, 1000} {
		b.Run(fmt.Sprint(flows, " flows"), func(b *testing.B) {
			batch := tcp.NewBatch(8192)
			var row tcp.Sample
			for f := range row.Values {
				row.Values[f] = 1000
			}
			e := New(Options{})
			now := t0
			for n := 0; n < b.N; n += batch.Len() {
				b.StopTimer()
				batch.Reset()
				for i := range int64(8192) {
					now += 100_000
					row.Flow = tcp.FlowID(i*flows/8192 + 1)
					row.TimeNs = now
					counters := []tcp.Field{tcp.AckedBytes, tcp.SentBytes, tcp.WrittenBytes, tcp.DeliveredPackets}
					for _, f := range counters {
						row.Values[f] += 1448
					}
					row.Values[tcp.BusyUs] += 100
					row.Values[tcp.RttUs] = 20_000 + i%5000
					batch.Append(&row)
				}
				b.StartTimer()
				if err := e.Samples(batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestManyLongFlowsTakeBoundedMemory feeds 10,000 connections with a sample a second for two
// minutes. Each sample is a bin of its own.
func TestManyLongFlowsTakeBoundedMemory(t *testing.T) {
	const flows, seconds = 10_000, 120
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	e := New(Options{})
	b := tcp.NewBatch(flows)
	var row tcp.Sample
	for f := range row.Values {
		row.Values[f] = 1000
	}
	for second := range int64(seconds) {
		b.Reset()
		for id := range tcp.FlowID(flows) {
			row.Flow = id + 1
			row.TimeNs = t0 + second*1e9
			b.Append(&row)
		}
		if err := e.Samples(b); err != nil {
			t.Fatal(err)
		}
	}
	took := int64(heap()) - int64(before)
	if took > 250<<20 {
		t.Errorf("%d connections take %d MiB", flows, took>>20)
	}
	if n := len(e.Report().Connections); n != flows {
		t.Errorf("the report has %d connections, want %d", n, flows)
	}
	t.Logf("%d MiB", took>>20)
	runtime.KeepAlive(e)
}
