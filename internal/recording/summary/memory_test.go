package summary

import (
	"reflect"
	"runtime"
	"testing"

	"airtide/internal/tcp"
)

// TestManyFlowsTakeLittleMemory sums up as many flows as a reader delivers of a file of 1 MB. The
// samples are spread over the whole range of values.
func TestManyFlowsTakeLittleMemory(t *testing.T) {
	const flows, rows = 4096 + 1_000_000/24, 1_500_000
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	s := New(Options{})
	b := tcp.NewBatch(1 << 13)
	var row tcp.Sample
	for i := range rows {
		row.Flow = tcp.FlowID(i%flows + 1)
		row.TimeNs = int64(i)
		for f := range row.Values {
			row.Values[f] = int64(i) << (i / flows % 40)
		}
		b.Append(&row)
		if b.Len() == 1<<13 {
			if err := s.Samples(b); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	took := int64(heap()) - int64(before)
	if took > 180<<20 {
		t.Errorf("%d flows take %d MiB", len(s.order), took>>20)
	}
	runtime.KeepAlive(s)
	t.Logf("%d MiB", took>>20)
}

// TestAListMakesTheFlowsOfAReport compares both, in the order of sight and sorted.
func TestAListMakesTheFlowsOfAReport(t *testing.T) {
	s := transfer(t, 2)
	for _, order := range []*Order{nil, {Key: "flow", Reverse: true}, {Key: "process"}} {
		want := s.Report()
		if order != nil {
			want.Sort(*order)
		}
		i := 0
		for flow := range s.List(order, nil).Each() {
			if !reflect.DeepEqual(*flow, want.Flows[i]) {
				t.Errorf("order %v: flow %d is %+v, want %+v", order, i, *flow, want.Flows[i])
			}
			i++
		}
		if i != len(want.Flows) {
			t.Errorf("%d flows, want %d", i, len(want.Flows))
		}
	}
}
