package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airtide/internal/tcp"
)

// madeBlock returns a block with valid checksums.
func madeBlock(kind blockKind, count int, payload []byte) []byte {
	b := append(make([]byte, headerLen), payload...)
	h := newHeader(kind)
	h.count = uint32(count)
	h.firstNs = 0
	h.lastNs = 1 << 62
	h.lowest = 0
	h.highest = 1<<32 - 1
	h.put(b)
	return b
}

// fileOf returns a recording with the blocks, repeated up to a size in bytes.
func fileOf(t *testing.T, size int, blocks func(i int) []byte) []byte {
	t.Helper()
	d := describe(Metadata{})
	text, err := d.payload()
	must(t, err)
	file := madeBlock(blockHeader, 0, compress(nil, text))
	for i := 0; ; i++ {
		b := blocks(i)
		if len(file)+len(b) > size {
			return file
		}
		file = append(file, b...)
	}
}

// samplesOfManyFlows returns a block of samples, each of another flow.
func samplesOfManyFlows(first int) []byte {
	b := tcp.NewBatch(maxRows)
	b.Resize(maxRows)
	for i := range b.TimeNs {
		b.Flow[i] = tcp.FlowID(first + i)
	}
	var e samplesEncoder
	e.encode(rows{b, 0, b.Len()})
	return madeBlock(blockSamples, b.Len(), e.payload(nil))
}

// counted is a sink that counts.
type counted struct {
	flows, rows, events, text int
}

func (c *counted) Flow(f *tcp.Flow) error {
	c.flows++
	c.text = max(c.text, len(f.Comm), len(f.CgroupPath), len(f.CongestionControl))
	return nil
}

func (c *counted) Samples(b *tcp.Batch) error { c.rows += b.Len(); return nil }

func (c *counted) Event(e *tcp.Event) error {
	c.events++
	c.text = max(c.text, len(e.Text))
	return nil
}

func (c *counted) Lost(*tcp.Loss) error { return nil }

func (c *counted) Radio(*tcp.Radio) error { return nil }

func TestSizeOfTheFileLimitsWhatAScanDelivers(t *testing.T) {
	const size = 400_000
	definitions := func(i int) []byte {
		var text []byte
		for k := range 5000 {
			text = fmt.Appendf(text, `{"flow":%d}`+"\n", 1+i*5000+k)
		}
		return madeBlock(blockFlows, 5000, compress(nil, text))
	}
	sameFlow := madeBlock(blockFlows, 1<<16, compress(nil, bytes.Repeat([]byte(`{"flow":1}`), 1<<16)))
	manyFlows := samplesOfManyFlows(1)
	oneFlow := tcp.NewBatch(maxRows)
	oneFlow.Resize(maxRows)
	var e samplesEncoder
	e.encode(rows{oneFlow, 0, maxRows})
	constant := madeBlock(blockSamples, maxRows, e.payload(nil))
	event, _ := appendEvent(nil, &tcp.Event{Flow: 1}, 0, nil)
	events := madeBlock(blockEvents, 1<<18, compress(nil, bytes.Repeat(event, 1<<18)))
	for name, blocks := range map[string]func(int) []byte{
		"definitions":        definitions,
		"one flow defined":   func(int) []byte { return sameFlow },
		"undefined flows":    func(i int) []byte { return samplesOfManyFlows(1 + i*maxRows) },
		"undefined again":    func(int) []byte { return manyFlows },
		"samples of one":     func(int) []byte { return constant },
		"events of one flow": func(int) []byte { return events },
	} {
		t.Run(name, func(t *testing.T) {
			file := fileOf(t, size, blocks)
			r, err := newReader("test.atr", bytes.NewReader(file), int64(len(file)))
			must(t, err)
			var got counted
			must(t, r.Scan(context.Background(), ScanOptions{}, &got))
			flows := freeFlows + size/bytesPerFlow
			most := freeRows + rowsPerByte*size
			if got.flows > repeatedFlows*flows || got.rows+got.events > most {
				t.Errorf("%d flows, %d samples, %d events of %d bytes", got.flows, got.rows, got.events, size)
			}
			if d := r.Damage(); d.Whole() || len(d.Skipped) == 0 {
				t.Errorf("the damage says nothing of it: %+v", d)
			}
		})
	}
}

func TestLongTextsAreCut(t *testing.T) {
	long := strings.Repeat("ä", 1<<16)
	flow, err := json.Marshal(&tcp.Flow{ID: 1, Comm: long, CgroupPath: long, CongestionControl: long})
	must(t, err)
	event, _ := appendEvent(nil, &tcp.Event{Flow: 1, Text: long}, 0, nil)
	parts := [][]byte{madeBlock(blockFlows, 1, compress(nil, flow)), madeBlock(blockEvents, 1, compress(nil, event))}
	file := fileOf(t, 1<<20, func(i int) []byte { return append([]byte{}, parts[i%2]...) })
	r, err := newReader("test.atr", bytes.NewReader(file), int64(len(file)))
	must(t, err)
	var got counted
	must(t, r.Scan(context.Background(), ScanOptions{}, &got))
	if got.flows == 0 || got.events == 0 || got.text > maxPath {
		t.Errorf("%d flows, %d events, %d bytes of text", got.flows, got.events, got.text)
	}
	if c := cutText("ääää", 3); c != "ä" {
		t.Errorf("cut to %q", c)
	}
}

// claims is a file of many headers. Each claims a long payload with a wrong checksum.
type claims struct {
	header []byte
	size   int64
	zeros  int64 // offset of the first zero
}

func (c *claims) ReadAt(p []byte, at int64) (int, error) {
	p = p[:min(int64(len(p)), c.size-at)]
	clear(p)
	for i := range p {
		if place := at + int64(i); place < c.zeros {
			p[i] = c.header[place%int64(len(c.header))]
		} else {
			break
		}
	}
	return len(p), nil
}

func TestHeadersThatClaimMuchDoNotTakeLong(t *testing.T) {
	h := newHeader(blockEvents)
	block := make([]byte, headerLen+48<<20)
	h.put(block)
	block[headerLen] = 1 // the checksum of the payload no longer holds
	file := &claims{header: block[:headerLen], size: 49 << 20, zeros: 2000 * headerLen}
	b := newBlocks(context.Background(), file, file.size)
	started := time.Now()
	for {
		h, err := b.next()
		if err != nil {
			break
		}
		if _, _, err := b.payload(&h); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if b.damage.SkippedBytes != file.size {
		t.Errorf("damage %+v", b.damage)
	}
}

func TestContextInterruptsTheSearchForAWholeBlock(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	file := fileOf(t, 1<<20, func(int) []byte { return []byte(marker) })
	r, err := newReader("test.atr", bytes.NewReader(file), int64(len(file)))
	must(t, err)
	cancel()
	if err := r.Scan(ctx, ScanOptions{}, &counted{}); !errors.Is(err, errInterrupted) {
		t.Errorf("error %v", err)
	}
}

// Padding adds nothing to what a scan delivers, and a hole is not read.
func TestPaddingDoesNotRaiseTheLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "padded.atr")
	file := fileOf(t, 100_000, func(i int) []byte {
		var text []byte
		for k := range 5000 {
			text = fmt.Appendf(text, `{"flow":%d}`+"\n", 1+i*5000+k)
		}
		return madeBlock(blockFlows, 5000, compress(nil, text))
	})
	must(t, os.WriteFile(path, file, 0o600))
	flows := func() int {
		r, err := Open(path)
		must(t, err)
		defer r.Close()
		var c counted
		must(t, r.Scan(t.Context(), ScanOptions{}, &c))
		return c.flows
	}
	plain := flows()
	must(t, os.Truncate(path, 1<<40))
	if padded := flows(); padded != plain || plain > freeFlows+len(file)/bytesPerFlow {
		t.Errorf("%d flows, and %d with a hole of 1 TB", plain, padded)
	}
}

func TestManyFlowsEndAScan(t *testing.T) {
	file := fileOf(t, 100_000, func(i int) []byte { return samplesOfManyFlows(1) })
	r, err := newReader("test.atr", bytes.NewReader(file), int64(len(file)))
	must(t, err)
	err = r.Scan(t.Context(), ScanOptions{MaxFlows: 100}, &counted{})
	if many, ok := errors.AsType[*ManyFlowsError](err); !ok || many.Most != 100 {
		t.Errorf("a scan of more than 100 flows gives %v", err)
	}
}
