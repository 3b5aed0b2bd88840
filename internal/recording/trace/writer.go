package trace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"slices"

	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
)

const (
	// directRows is the number of samples from which a batch becomes a block directly. Smaller
	// batches are gathered first. In blocks of this size a sample takes about a tenth more space
	// and time than in full blocks.
	directRows = 2048
	// maxAgeNs is the maximum age of gathered data, measured by the times of samples and events.
	maxAgeNs = int64(1e9)
	// maxGathered is the greatest number of bytes of events or flows that are gathered.
	maxGathered = 1 << 20
)

// Options of Create.
type Options struct {
	// Overwrite allows a recording to take the place of a file that exists.
	Overwrite bool
}

// Writer writes a recording. It is a tcp.Sink for one goroutine. Its owner calls Flush at least
// each second and Close at the end. After an error, every call writes nothing and returns that
// error; the data written before stays readable.
type Writer struct {
	path  string
	file  io.WriteCloser
	fd    int   // the file, which others may delete, truncate or move; -1 for a stream
	size  int64 // bytes in whole blocks
	err   error
	stats Stats
	// Data gathered for the next blocks, in the order of writing.
	flows    gathered
	pending  *tcp.Batch
	events   gathered
	radio    gathered
	lost     tcp.Loss
	hasLost  bool
	oldestNs int64 // time of the oldest gathered sample, event or record

	encoder      samplesEncoder
	block        []byte
	record       []byte
	lastEventNs  int64
	first, last  int64     // times of the recording
	lostReported *tcp.Loss // content of the last loss block
}

// gathered is the payload of a block that is not written yet.
type gathered struct {
	header
	payload []byte
}

// cutter is a file from which a partly written block can be removed.
type cutter interface {
	Truncate(size int64) error
	Seek(offset int64, whence int) (int64, error)
}

// Stream starts a recording into a stream, such as a pipe, which Close does not close. The name is
// for messages.
func Stream(name string, stream io.Writer, m Metadata) (*Writer, error) {
	w := newWriter(name, unclosed{stream})
	if err := w.start(m); err != nil {
		return nil, err
	}
	return w, nil
}

// unclosed hides all methods of a stream but Write.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// Create starts a recording. It refuses an existing file unless o allows it, and a file that
// another writer is recording to.
func Create(path string, m Metadata, o Options) (*Writer, error) {
	f, err := createFile(path, o.Overwrite)
	if err != nil {
		return nil, err
	}
	w := newWriter(path, f.File)
	err = w.start(m)
	if err == nil {
		err = f.Publish()
	}
	if err != nil {
		f.Discard()
		return nil, err
	}
	if !f.Stream() {
		w.fd = int(f.Fd()) // until now the file had no name to check
	}
	return w, nil
}

func newWriter(path string, f io.WriteCloser) *Writer {
	w := &Writer{path: path, file: f, fd: -1, pending: tcp.NewBatch(0), first: math.MaxInt64, last: math.MinInt64}
	w.flows.header = newHeader(blockFlows)
	w.events.header = newHeader(blockEvents)
	w.radio.header = newHeader(blockRadio)
	w.oldestNs = math.MaxInt64
	return w
}

// start writes the header block, twice: without it the file cannot be read.
func (w *Writer) start(m Metadata) error {
	d := describe(m)
	text, err := d.payload()
	if err != nil {
		return err
	}
	for range 2 {
		if err := w.write(newHeader(blockHeader), text); err != nil {
			return err
		}
	}
	return nil
}

// Flow takes the definition of a flow, or a better one of a flow that was defined before.
func (w *Writer) Flow(f *tcp.Flow) error {
	if w.err != nil {
		return w.err
	}
	text, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("recording flow %d: %w", f.ID, err)
	}
	w.flows.payload = append(append(w.flows.payload, text...), '\n')
	w.flows.count++
	w.stats.Flows++
	if len(w.flows.payload) > maxGathered {
		return w.writeFlows()
	}
	return nil
}

// Samples takes samples.
func (w *Writer) Samples(b *tcp.Batch) error {
	n := b.Len()
	if w.err != nil || n == 0 {
		return w.err
	}
	for f := range b.Cols {
		if len(b.Cols[f]) != n {
			return fmt.Errorf("recording samples: %d rows and %d values of %s", n, len(b.Cols[f]), tcp.Field(f))
		}
	}
	w.stats.Samples += uint64(n)
	if n >= directRows {
		if err := w.writePending(); err != nil {
			return err
		}
		for from := 0; from < n; from += MaxBlockRows {
			if err := w.writeSamples(rows{b, from, min(from+MaxBlockRows, n)}); err != nil {
				return err
			}
		}
		return w.flushAged(b.TimeNs[n-1])
	}
	if w.pending.Len()+n > MaxBlockRows {
		if err := w.writePending(); err != nil {
			return err
		}
	}
	if w.pending.Len() == 0 {
		w.oldestNs = min(w.oldestNs, b.TimeNs[0])
		w.pending.Resize(MaxBlockRows) // all at once, the first time
		w.pending.Reset()
	}
	w.pending.TimeNs = append(w.pending.TimeNs, b.TimeNs...)
	w.pending.Flow = append(w.pending.Flow, b.Flow...)
	for f := range b.Cols {
		w.pending.Cols[f] = append(w.pending.Cols[f], b.Cols[f]...)
	}
	return w.flushAged(b.TimeNs[n-1])
}

// Event takes an event.
func (w *Writer) Event(e *tcp.Event) error {
	if w.err != nil {
		return w.err
	}
	if w.events.count == 0 {
		w.lastEventNs = 0
	}
	w.events.payload, w.record = appendEvent(w.events.payload, e, w.lastEventNs, w.record)
	w.lastEventNs = e.TimeNs
	w.events.covers(e.TimeNs, e.TimeNs)
	w.events.lowest = min(w.events.lowest, uint32(e.Flow))
	w.events.highest = max(w.events.highest, uint32(e.Flow))
	w.events.count++
	w.stats.Events++
	w.oldestNs = min(w.oldestNs, e.TimeNs)
	if len(w.events.payload) > maxGathered {
		return w.writeEvents()
	}
	return w.flushAged(e.TimeNs)
}

// Lost records the loss counts so far.
func (w *Writer) Lost(l *tcp.Loss) error {
	if w.err != nil {
		return w.err
	}
	w.lost = *l
	w.lost.PerCPU = slices.Clone(l.PerCPU)
	w.hasLost = true
	return nil
}

// Radio takes a record about a radio.
func (w *Writer) Radio(r *tcp.Radio) error {
	if w.err != nil {
		return w.err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("recording the radio: %w", err)
	}
	w.radio.payload = append(append(w.radio.payload, text...), '\n')
	w.radio.covers(r.TimeNs, r.TimeNs)
	w.radio.count++
	w.stats.Radio++
	w.oldestNs = min(w.oldestNs, r.TimeNs)
	if len(w.radio.payload) > maxGathered {
		return w.writeRadio()
	}
	return w.flushAged(r.TimeNs)
}

// flushAged flushes if the gathered data is too old at the given time.
func (w *Writer) flushAged(nowNs int64) error {
	if nowNs-w.oldestNs >= maxAgeNs && w.oldestNs <= nowNs {
		return w.Flush()
	}
	return nil
}

// Flush writes the gathered data, so that a killed process loses no data from before the call. It
// fails if the file has been deleted or truncated.
func (w *Writer) Flush() error {
	if err := w.writeAll(); err != nil {
		return err
	}
	return w.checkFile()
}

// checkFile fails if data that was written is no longer in the file.
func (w *Writer) checkFile() error {
	if w.err == nil && w.fd >= 0 {
		w.err = checkFile(w.path, w.fd, w.size)
	}
	return w.err
}

func (w *Writer) writeAll() error {
	if err := w.writeFlows(); err != nil {
		return err
	}
	if err := w.writePending(); err != nil {
		return err
	}
	if err := w.writeEvents(); err != nil {
		return err
	}
	if err := w.writeRadio(); err != nil {
		return err
	}
	w.oldestNs = math.MaxInt64
	return w.writeLost()
}

// Close writes the gathered data and the clean end, and closes the file.
func (w *Writer) Close() error {
	if w.file == nil {
		return w.err
	}
	if w.Flush() == nil {
		w.writeEnd()
	}
	if w.err == nil && w.fd >= 0 {
		w.err = checkPath(w.path, w.fd)
	}
	err := w.file.Close()
	w.file = nil
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("closing trace: %w", err)
	}
	err = w.err
	if w.err == nil {
		w.err = fmt.Errorf("recording to %s: %w", w.path, os.ErrClosed)
	}
	return err
}

// Stats returns the counts so far. Samples and events count when they are taken, blocks and bytes
// when written.
func (w *Writer) Stats() Stats { return w.stats }

func (w *Writer) writeFlows() error {
	if w.flows.count == 0 {
		return w.err
	}
	return w.writeGathered(&w.flows)
}

// writeGathered writes a block and begins the next of its kind.
func (w *Writer) writeGathered(g *gathered) error {
	err := w.write(g.header, g.payload)
	*g = gathered{newHeader(g.kind), g.payload[:0]}
	return err
}

func (w *Writer) writeEvents() error {
	if w.events.count == 0 {
		return w.err
	}
	if err := w.writeFlows(); err != nil {
		return err
	}
	w.cover(&w.events.header)
	return w.writeGathered(&w.events)
}

func (w *Writer) writeRadio() error {
	if w.radio.count == 0 {
		return w.err
	}
	w.cover(&w.radio.header)
	return w.writeGathered(&w.radio)
}

func (w *Writer) writePending() error {
	if w.pending.Len() == 0 {
		return w.err
	}
	err := w.writeSamples(rows{w.pending, 0, w.pending.Len()})
	w.pending.Reset()
	return err
}

// writeSamples writes a block of samples, after the flows that they may belong to.
func (w *Writer) writeSamples(r rows) error {
	if err := w.writeFlows(); err != nil {
		return err
	}
	h := newHeader(blockSamples)
	h.count = uint32(r.to - r.from)
	for _, ns := range r.batch.TimeNs[r.from:r.to] {
		h.firstNs = min(h.firstNs, ns)
		h.lastNs = max(h.lastNs, ns)
	}
	for _, f := range r.batch.Flow[r.from:r.to] {
		h.lowest = min(h.lowest, uint32(f))
		h.highest = max(h.highest, uint32(f))
	}
	w.cover(&h)
	w.encoder.encode(r)
	w.startBlock()
	w.block = w.encoder.payload(w.block)
	return w.finishBlock(h)
}

func (w *Writer) writeLost() error {
	if !w.hasLost {
		return w.err
	}
	w.hasLost = false
	if r := w.lostReported; r != nil && sameCounts(*r, w.lost) {
		return nil
	}
	reported := w.lost
	w.lostReported = &reported
	text, err := json.Marshal(&w.lost)
	if err != nil {
		return fmt.Errorf("recording lost counts: %w", err)
	}
	h := newHeader(blockLoss)
	h.count = 1
	return w.write(h, text)
}

// sameCounts reports whether two losses differ in nothing but their time.
func sameCounts(a, b tcp.Loss) bool {
	a.TimeNs = b.TimeNs
	return reflect.DeepEqual(a, b)
}

// writeEnd writes the clean end.
func (w *Writer) writeEnd() {
	t := Totals{
		Samples: w.stats.Samples, Events: w.stats.Events, Flows: w.stats.Flows, Radio: w.stats.Radio,
		Blocks: w.stats.Blocks + 1, Lost: w.lost,
	}
	if w.first <= w.last {
		t.FirstNs = w.first
		t.LastNs = w.last
	}
	text, err := json.Marshal(&t)
	if err != nil {
		w.err = fmt.Errorf("ending the recording: %w", err)
		return
	}
	_ = w.write(newHeader(blockEnd), text) // Close returns w.err
}

func (w *Writer) cover(h *header) {
	w.first = min(w.first, h.firstNs)
	w.last = max(w.last, h.lastNs)
}

// write compresses the payload and writes it as a block.
func (w *Writer) write(h header, payload []byte) error {
	w.startBlock()
	w.block = compress(w.block, payload)
	return w.finishBlock(h)
}

// startBlock makes room for the header of a block, to which the caller appends the payload.
func (w *Writer) startBlock() { w.block = slices.Grow(w.block[:0], headerLen)[:headerLen] }

// finishBlock writes the block with one call. If that fails, finishBlock removes the partly written
// block.
func (w *Writer) finishBlock(h header) error {
	// Behind a write into a truncated file its size would look right.
	if err := w.checkFile(); err != nil {
		return err
	}
	h.sequence = uint32(w.stats.Blocks)
	h.put(w.block)
	if _, err := w.file.Write(w.block); err != nil {
		w.takeBack()
		w.err = fmt.Errorf("recording to %s: %w; %s", w.path, err, advice(err))
		return w.err
	}
	w.size += int64(len(w.block))
	w.stats.Blocks++
	w.stats.Bytes = w.size
	return nil
}

// takeBack cuts the file after the last whole block. Should that fail too, then a reader reports a
// truncated tail.
func (w *Writer) takeBack() {
	if f, ok := w.file.(cutter); ok && f.Truncate(w.size) == nil {
		_, _ = f.Seek(w.size, io.SeekStart)
	}
}

// advice returns a remedy for a write error.
func advice(err error) string {
	const kept = "what was recorded until here stays readable"
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return kept + "; free some space or record to another disk"
	case errors.Is(err, unix.EFBIG):
		return kept + "; the file system or a limit (ulimit -f) allows no larger file"
	}
	return kept
}
