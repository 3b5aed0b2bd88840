package trace

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"airtide/internal/tcp"
)

// FuzzReader reads arbitrary bytes: as a file, and as the payload of a block of each kind. The
// block has valid checksums, because a fuzzer would not find them.
func FuzzReader(f *testing.F) {
	file, _ := smallRecording(f)
	f.Add(file)
	f.Add(file[:len(file)/2])
	f.Add([]byte(marker))
	var header []byte
	for _, b := range extents(f, file) {
		f.Add(file[b.from+headerLen : b.to])
		if b.kind == blockHeader {
			header = file[b.from:b.to]
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10 { // samples of all codings
		var e samplesEncoder
		b := randomBatch(rng, 20+rng.IntN(50), 1+rng.IntN(5))
		e.encode(rows{b, 0, b.Len()})
		f.Add(e.payload(nil))
	}
	described, err := newReader("fuzz.atr", bytes.NewReader(header), int64(len(header)))
	must(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := newReader("fuzz.atr", bytes.NewReader(data), int64(len(data))); err == nil {
			scanFuzzed(t, r)
		}
		for kind := blockHeader; kind <= blockRadio; kind++ {
			block := append(make([]byte, headerLen, headerLen+len(data)), data...)
			h := newHeader(kind)
			h.firstNs = -1 << 63
			h.lastNs = 1<<63 - 1
			h.lowest = 0
			h.highest = 1<<32 - 1
			h.count = 100
			if len(data) > 0 {
				h.count = uint32(data[len(data)-1]) * 20
			}
			h.put(block)
			r := *described // its description is read once, which takes most of the time
			r.source = bytes.NewReader(block)
			r.size = int64(len(block))
			scanFuzzed(t, &r)
		}
	})
}

// scanFuzzed scans a file as a whole and in part.
func scanFuzzed(t *testing.T, r *Reader) {
	if err := r.Scan(t.Context(), ScanOptions{}, &counted{}); err != nil {
		return
	}
	d := r.Damage()
	_ = d.String()
	if d.SkippedBytes+d.TailBytes > r.size {
		t.Errorf("%d bytes skipped and %d cut off, of %d", d.SkippedBytes, d.TailBytes, r.size)
	}
	o := ScanOptions{Flows: []tcp.FlowID{1, 3}, FromNs: 5, Fields: []tcp.Field{tcp.AckedBytes}}
	if err := r.Scan(t.Context(), o, &counted{}); err != nil {
		t.Errorf("the file can be read, but not in part: %v", err)
	}
	r.Totals()
}
