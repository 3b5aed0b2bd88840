package trace

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"airtide/internal/tcp"
)

// FuzzReader reads whatever bytes come: as a file, and as the payload of a block of each kind whose
// checksums hold, so that the fuzzer does not have to find checksums.
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
		b := randomBatch(rng, 100+rng.IntN(500), 1+rng.IntN(20))
		e.encode(rows{b, 0, b.Len()})
		f.Add(e.payload(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(file []byte) {
			_, r, err := scanBytes(file, ScanOptions{})
			if err != nil {
				return
			}
			d := r.Damage()
			_ = d.String()
			if d.SkippedBytes+d.TailBytes > int64(len(file)) {
				t.Errorf("%d bytes skipped and %d cut off, of %d", d.SkippedBytes, d.TailBytes, len(file))
			}
			o := ScanOptions{Flows: []tcp.FlowID{1, 3}, FromNs: 5, Fields: []tcp.Field{tcp.AckedBytes}}
			if _, _, err := scanBytes(file, o); err != nil {
				t.Errorf("the file can be read, but not in part: %v", err)
			}
			r.Totals()
		}
		read(data)
		for kind := blockHeader; kind <= blockEnd; kind++ {
			block := bytes.Clone(header)
			at := len(block)
			block = append(append(block, make([]byte, headerLen)...), data...)
			h := newHeader(kind)
			h.firstNs = -1 << 63
			h.lastNs = 1<<63 - 1
			h.lowest = 0
			h.highest = 1<<32 - 1
			h.count = 100
			if len(data) > 0 {
				h.count = uint32(data[len(data)-1]) * 20
			}
			h.put(block[at:])
			read(block)
		}
	})
}
