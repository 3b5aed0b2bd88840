package bpf

import (
	"io"
	"runtime"
	"testing"
	"unsafe"

	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
)

// bytesOf gives a record as the rings do.
func bytesOf[T any](record *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(record)), unsafe.Sizeof(*record))
}

// heapBytes is the memory in use.
func heapBytes() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A recorder runs for months: the flows that it has seen must not cost memory. Some flows stay open
// all the time, and some are held without an owner until they end.
func TestAMillionFlowsTakeNoMemory(t *testing.T) {
	flows := uint64(1_000_000)
	if testing.Short() {
		flows = 100_000
	}
	d := &decoder{ticks: newTicks(250)}
	s := &Source{flows: newFlowTable(), decoder: d, batch: d.newBatch(batchRows)}
	sink, err := trace.Stream("nowhere", io.Discard, trace.HostMetadata())
	if err != nil {
		t.Fatal(err)
	}
	take := func(raw []byte) {
		if err := s.take(raw, sink); err != nil {
			t.Fatal(err)
		}
	}
	const open, stays = 1000, 97 // flows open at a time; one in so many never closes
	var atFirst int64
	for n := uint64(1); n <= flows; n++ {
		id := kernelID(n, n%4)
		undecided := n%10 == 0
		flow := monitorFlowRecord{Kind: uint8(monitorMonRecordKindRECORD_FLOW), Flow: id, FirstNs: n * 1000}
		if undecided {
			flow.Flags = undecidedMark
		}
		take(bytesOf(&flow))
		sample := monitorSampleRecord{Kind: uint8(monitorMonRecordKindRECORD_SAMPLE), Flow: id, TimeNs: n * 1000}
		take(bytesOf(&sample))
		if n > open {
			old := n - open
			id := kernelID(old, old%4)
			switch {
			case old%10 == 0:
				take(bytesOf(&monitorFlowRecord{
					Kind: uint8(monitorMonRecordKindRECORD_FLOW), Flow: id, Flags: rejectedMark,
				}))
			case old%stays != 0 || old > 50_000:
				take(bytesOf(&monitorEventRecord{
					Kind: uint8(monitorMonRecordKindRECORD_EVENT), Event: uint8(tcp.EventClose), Flow: id,
					TimeNs: n * 1000,
				}))
			}
		}
		if n == flows/2 {
			atFirst = heapBytes()
		}
	}
	if s.loss.Orphans != 0 {
		t.Errorf("%d records found no flow", s.loss.Orphans)
	}
	if grown := heapBytes() - atFirst; grown > 1<<20 {
		t.Errorf("the second half of %d flows took %d bytes", flows, grown)
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(sink)
}
