package bpf

import (
	"testing"
	"unsafe"

	"github.com/cilium/ebpf/btf"

	"airtide/internal/tcp"
)

// BenchmarkDecode is user space's part of the cost of a sample before it reaches the sink.
func BenchmarkDecode(b *testing.B) {
	types, err := btf.LoadKernelSpec()
	if err != nil {
		b.Fatal(err)
	}
	states, _ := resolvePrivate(types)
	d := newDecoder(types, 250, states)
	records := make([]monitorSampleRecord, 4096)
	for i := range records {
		n := uint32(i)
		records[i] = monitorSampleRecord{
			Kind: 1, Flags: withPacket, TimeNs: uint64(20_000 * i), BytesAcked: uint64(1448 * i), SndUna: 1448 * n,
			Ack:    1448 * (n + 2),
			SndNxt: 1448 * (n + 50), WriteSeq: 1448 * (n + 300), Cwnd: 50 + n/100, Ssthresh: 40, PacketsOut: 50,
			Mss:  1448,
			Srtt: 8 * (20_000 + n%1000), Mdev: 4 * 900, Rtt: 20_000 + n%1500, MinRtt: 19_000, Rto: 56, Jiffies: n / 200,
			RateDelivered: 50, RateIntervalUs: 20_000 + n%100, PacingRate: 3_600_000 + uint64(n%777), ChronoType: 1,
		}
	}
	batch := d.newBatch(batchRows)
	private := d.private["cubic"]
	b.ResetTimer()
	for i := range b.N {
		if d.full(batch) {
			_ = d.deliver(batch, func(*tcp.Batch) error { return nil })
		}
		r := &records[i%len(records)]
		raw := unsafe.Slice((*byte)(unsafe.Pointer(r)), sampleSize)
		d.sample(raw, tcp.FlowID(1), private, batch)
	}
}
