package summary

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"airtide/internal/tcp"
)

// lossy makes a summary of 30 flows, some without samples, with drops at more places than a report
// keeps.
func lossy(t *testing.T) *scene {
	s := newScene(t, Options{Drops: true})
	for id := tcp.FlowID(1); id <= 30; id++ {
		s.open(id, nil)
		for i := range int64(id) % 4 {
			s.sample(id, t0+i*sec/2, values{
				tcp.AckedBytes: i * int64(id%7) * 50_000, tcp.RttUs: 1000 * int64(id), tcp.SrttUs: 900 * int64(id),
				tcp.CwndPackets: 10 + int64(id), tcp.CAStateField: i % 3, tcp.DeliveredPackets: 100 * i,
				tcp.RetransmitsPackets: i, tcp.MergedPackets: 2 * i,
			})
		}
		at := t0 + 2*sec
		s.event(tcp.Event{
			TimeNs: at, Flow: id, Kind: tcp.EventDrop, From: tcp.DirectionSent, Seq: 1, EndSeq: 1449,
			Text: fmt.Sprintf("place %d", id%20),
		})
		s.event(tcp.Event{TimeNs: at + 1, Flow: id, Kind: tcp.EventRetransmit, Seq: 1, EndSeq: 1449})
	}
	return s
}

// TestReportsAreTheSameOnAnyProcessors makes the same report with one processor and with several,
// which each take a part of the flows.
func TestReportsAreTheSameOnAnyProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, c := range []Choice{
		{},
		{First: 5, Order: OrderByBytes},
		{First: 5, Order: Order{Key: "rtt_us", Reverse: true}},
		{First: 5, Order: Order{Key: "rate_bps"}},
		{First: 40, Order: Order{Key: "none"}},
	} {
		runtime.GOMAXPROCS(1)
		want := lossy(t).Finish(c)
		if len(want.Totals.Retransmissions.Losses.Here) != 16 {
			t.Fatalf("losses %v, want 16 places", want.Totals.Retransmissions.Losses)
		}
		for _, processors := range []int{2, 3, 64} {
			runtime.GOMAXPROCS(processors)
			if got := lossy(t).Finish(c); !reflect.DeepEqual(got, want) {
				t.Errorf("choice %+v with %d processors: %+v, want %+v", c, processors, got, want)
			}
		}
	}
}
