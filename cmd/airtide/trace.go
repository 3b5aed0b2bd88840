package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"airtide/internal/packets/read"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/view/terminal"
)

// reading is a recording that a verb reads.
type reading struct {
	*trace.Reader
	terminal *terminal.Terminal
	path     string
	begun    time.Time
	warned   bool
}

// openTrace opens a recording: a file, or standard input if the path is "-".
func openTrace(ctx context.Context, t *terminal.Terminal, path string) (*reading, error) {
	var r *trace.Reader
	var err error
	if path == "-" {
		path = "standard input"
		err = t.WaitFor("the recording from standard input", func() (err error) {
			r, err = trace.OpenStream(ctx, path, os.Stdin)
			return err
		})
	} else {
		r, err = trace.Open(path)
	}
	if errors.Is(err, trace.ErrForeign) && isCapture(path) {
		return nil, fmt.Errorf("%w but a packet capture: airtide packets reads it", err)
	}
	if err != nil {
		return nil, err
	}
	limitMemory(path, r.Size())
	return &reading{Reader: r, terminal: t, path: path, begun: time.Now()}, nil
}

// isCapture reports whether a file is a capture of packets.
func isCapture(path string) bool {
	c, err := read.Open(path)
	if err != nil {
		return false
	}
	c.Close()
	return true
}

// maxFlows is the number of flows of a recording that a verb reads. They take up to 1 GB.
const maxFlows = 1 << 20

// smallMemory is the memory in bytes at which the collector works harder for small files. More
// stays possible.
const smallMemory = 150 << 20

// limitMemory makes the collector work harder, because a recording may have many flows: a hostile
// one of 1 MB 45,000. The padding of a sparse file does not count. Below the limit of a small file
// the collector works as usual, above it as hard as it may.
func limitMemory(path string, size int64) {
	if info, err := os.Stat(path); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			size = min(size, stat.Blocks*512)
		}
	}
	if size < 8<<20 {
		debug.SetMemoryLimit(smallMemory)
		return
	}
	debug.SetGCPercent(40)
}

// scan delivers the recording until the context ends. It shows progress once the verb has taken
// long.
func (r *reading) scan(ctx context.Context, doing string, o trace.ScanOptions, sink tcp.Sink) error {
	from := r.Metadata().ClockMonotonicNs
	s := &watched{ctx: ctx, sink: sink}
	if o.MaxFlows == 0 {
		o.MaxFlows = maxFlows
	}
	s.at.Store(from)
	of := ""
	if totals, ok := r.Totals(); ok {
		of = " of " + wholeSeconds(totals.LastNs-from)
	}
	how := func() string { return fmt.Sprintf("%s %s: %s%s", doing, r.path, wholeSeconds(s.at.Load()-from), of) }
	return r.terminal.Wait(r.begun, how, func() error { return r.Scan(ctx, o, s) })
}

func wholeSeconds(ns int64) string { return max(0, time.Duration(ns)).Truncate(time.Second).String() }

// warnDamage reports the unreadable parts, once. A scan for one flow skips blocks that a scan of
// all flows finds damaged.
func (r *reading) warnDamage() {
	if d := r.Damage(); !d.Whole() && !r.warned {
		r.warned = true
		r.terminal.Warnf("%s: %s", r.path, &d)
	}
}

// watched is a sink that stops the scan when the context ends and knows how far the scan is.
type watched struct {
	ctx  context.Context
	sink tcp.Sink
	at   atomic.Int64 // time of the last record in ns; read while the scan runs
}

func (w *watched) reach(ns int64) error {
	if w.ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if ns > w.at.Load() {
		w.at.Store(ns)
	}
	return nil
}

func (w *watched) Flow(f *tcp.Flow) error {
	if err := w.reach(f.FirstNs); err != nil {
		return err
	}
	return w.sink.Flow(f)
}

func (w *watched) Samples(b *tcp.Batch) error {
	if err := w.reach(b.TimeNs[b.Len()-1]); err != nil {
		return err
	}
	return w.sink.Samples(b)
}

func (w *watched) Event(e *tcp.Event) error {
	if err := w.reach(e.TimeNs); err != nil {
		return err
	}
	return w.sink.Event(e)
}

func (w *watched) Lost(l *tcp.Loss) error {
	if err := w.reach(l.TimeNs); err != nil {
		return err
	}
	return w.sink.Lost(l)
}

func (w *watched) Radio(r *tcp.Radio) error {
	if err := w.reach(r.TimeNs); err != nil {
		return err
	}
	return w.sink.Radio(r)
}

// busiestFlow finds the flow that moved the most bytes, and counts the flows.
func busiestFlow(ctx context.Context, r *reading) (id tcp.FlowID, of int, err error) {
	v := newVolume()
	o := trace.ScanOptions{Fields: []tcp.Field{tcp.AckedBytes, tcp.ReceivedBytes}}
	if err := r.scan(ctx, "looking for the busiest flow of", o, v); err != nil {
		return 0, 0, err
	}
	if len(v.order) == 0 {
		return 0, 0, fmt.Errorf("%s: the recording has no flows", r.path)
	}
	return v.busiest(), len(v.order), nil
}

// volume sums up the bytes that each flow moved. Of a sender and a receiver of equal volume it
// prefers the sender.
type volume struct {
	tcp.Discard
	bytes map[tcp.FlowID]int64
	// before holds the bytes acknowledged and received before the recording, for older flows.
	before map[tcp.FlowID][2]int64
	old    map[tcp.FlowID]bool
	order  []tcp.FlowID
}

func newVolume() *volume {
	return &volume{bytes: map[tcp.FlowID]int64{}, before: map[tcp.FlowID][2]int64{}, old: map[tcp.FlowID]bool{}}
}

func (v *volume) Flow(f *tcp.Flow) error {
	if _, ok := v.bytes[f.ID]; !ok {
		v.order = append(v.order, f.ID)
		v.bytes[f.ID] = 0
	}
	v.old[f.ID] = f.Inherited
	return nil
}

func (v *volume) Samples(b *tcp.Batch) error {
	for i, id := range b.Flow {
		acked := max(0, b.Cols[tcp.AckedBytes][i])
		received := max(0, b.Cols[tcp.ReceivedBytes][i])
		before, known := v.before[id]
		if !known && v.old[id] {
			before = [2]int64{acked, received}
			v.before[id] = before
		}
		v.bytes[id] = max(v.bytes[id], 2*(acked-before[0]), received-before[1])
	}
	return nil
}

func (v *volume) busiest() tcp.FlowID {
	best := v.order[0]
	for _, id := range v.order {
		if v.bytes[id] > v.bytes[best] {
			best = id
		}
	}
	return best
}
