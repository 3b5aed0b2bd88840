package bpf

import (
	"math"
	"testing"
	"unsafe"

	"airtide/internal/tcp"
)

// A reset empties the queue of sent segments. The kernel leaves the counts of lost and SACKed ones.
func TestNothingIsInFlightAfterAReset(t *testing.T) {
	d := &decoder{ticks: newTicks(250), private: map[string]*privateDecoder{}}
	batch := d.newBatch(1)
	s := monitorSampleRecord{LostOut: 200, SackedOut: 100, RetransOut: 21}
	d.sample(unsafe.Slice((*byte)(unsafe.Pointer(&s)), sampleSize), 1, nil, batch)
	if got := batch.At(tcp.InFlightPackets, 0); got != 0 {
		t.Errorf("%d packets are in flight", got)
	}
}

// Sequence numbers wrap every 4 GiB; offsets in the stream do not.
func TestStreamOffsetsGoOnBeyond4GiB(t *testing.T) {
	d := &decoder{ticks: newTicks(250), private: map[string]*privateDecoder{}}
	batch := d.newBatch(1)
	const acked, received = 9<<32 + 5, 7<<32 + 11
	s := monitorSampleRecord{
		Flags: withPacket, BytesAcked: acked, BytesReceived: received,
		SndUna: math.MaxUint32 - 9, SndNxt: 90, WriteSeq: 190, Ack: 40, // each ahead of snd_una, past the wrap
		RcvNxt: 20, CopiedSeq: math.MaxUint32 - 79, Seq: math.MaxUint32 - 4,
	}
	d.sample(unsafe.Slice((*byte)(unsafe.Pointer(&s)), sampleSize), 1, nil, batch)
	for f, want := range map[tcp.Field]int64{
		tcp.AckedBytes: acked, tcp.AckBytes: acked + 50, tcp.SentBytes: acked + 100, tcp.WrittenBytes: acked + 200,
		tcp.ReceivedBytes: received, tcp.SeqBytes: received - 25, tcp.ReadBytes: received - 100, tcp.UnsentBytes: 100,
	} {
		if got := batch.At(f, 0); got != want {
			t.Errorf("%s is %d, want %d", f, got, want)
		}
	}
	e := monitorEventRecord{
		Event: uint8(tcp.EventSack), BytesAcked: acked, SndUna: math.MaxUint32 - 9, Seq: math.MaxUint32 - 9, Blocks: 2,
		Sack: [8]uint32{math.MaxUint32 - 109, math.MaxUint32 - 59, 90, 190},
	}
	var got tcp.Event
	d.event(unsafe.Slice((*byte)(unsafe.Pointer(&e)), eventSize), 1, &got)
	if want := (tcp.Block{Start: acked - 100, End: acked - 50}); got.Blocks[0] != want || got.Seq != acked {
		t.Errorf("below the ACK: block %v at %d, want %v at %d", got.Blocks[0], got.Seq, want, int64(acked))
	}
	if want := (tcp.Block{Start: acked + 100, End: acked + 200}); got.Blocks[1] != want {
		t.Errorf("above the ACK: block %v, want %v", got.Blocks[1], want)
	}
}
