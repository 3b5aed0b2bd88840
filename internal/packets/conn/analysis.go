package conn

import (
	"context"
	"errors"
	"io"
	"sync"

	"airtide/internal/packets/decode"
	"airtide/internal/packets/read"
)

// Options choose the results of an analysis.
type Options struct {
	// Done, if not nil, is called with each connection once it has ended, and at the end of the
	// capture with all others. The order is the same in every run.
	Done func(*Connection) error
	// Observer, if not nil, sees every segment.
	Observer Observer
	// MaxOpen bounds the connections in memory; zero stands for DefaultMaxOpen. If there are more,
	// the closed one ends that was silent for the longest time, or else the open one.
	MaxOpen int
	// Workers is the number of goroutines beside the reading one. Zero analyses while reading. An
	// observer forces zero.
	Workers int
}

// DefaultMaxOpen is the number of connections that may be open. Each takes up to 3 kB. Closed
// connections count, until an open one needs their place.
const DefaultMaxOpen = 1 << 14

// maxWaiting bounds the segments of all connections that wait for ACKs.
const maxWaiting = 1 << 20

// Observer sees all segments of all connections, in the order of the capture, but no copies. The
// step is valid during the call.
type Observer interface {
	Step(*Connection, *Step) error
}

// Totals holds counts of the whole capture.
type Totals struct {
	decode.Counts
	Connections uint64 `json:"connections"`
	// Forgotten counts connections that ended because too many were open.
	Forgotten uint64 `json:"forgotten_connections"`
	// Unmeasured counts segments without a time to their ACK, because too many waited for ACKs.
	Unmeasured uint64 `json:"unmeasured_segments"`
	FirstNs    int64  `json:"first_ns"`
	LastNs     int64  `json:"last_ns"`
	// ClockStepsBack counts packets with a time before that of the packet before.
	ClockStepsBack uint64 `json:"clock_steps_back"`
	// Copies counts packets that were captured a second time, inside or outside of a tunnel.
	Copies uint64 `json:"copies,omitempty"`
	// Tunnels are those around segments, and Unread the kinds of packets that were not looked into.
	Tunnels []decode.Tunnel `json:"tunnels,omitempty"`
	Unread  []decode.Unread `json:"unread_kinds,omitempty"`
}

// Source delivers packets, as read.Reader does.
type Source interface{ Next(*read.Packet) error }

// Run analyses a capture to its end. A *read.Damage ends it too: all connections are delivered, and
// it is returned with the totals. The context ends it with its error.
func Run(ctx context.Context, source Source, o Options) (Totals, error) {
	a := &analysis{o: o}
	a.step.spare = maxWaiting
	a.members = members{byKey: map[decode.Key]*connection{}, maxOpen: o.MaxOpen, end: a.end, workers: max(1, o.Workers)}
	if o.MaxOpen <= 0 {
		a.members.maxOpen = DefaultMaxOpen
	}
	if o.Observer == nil {
		a.startWorkers(o.Workers)
	}
	err := a.read(ctx, source)
	if damage := (*read.Damage)(nil); err == nil || errors.As(err, &damage) {
		a.members.finish()
	}
	a.stopWorkers()
	a.totals.Counts = a.decoder.Counts
	a.totals.Tunnels = a.decoder.Tunnels()
	a.totals.Unread = a.decoder.Unread()
	a.totals.Unmeasured += a.step.dropped
	a.totals.Connections = a.members.count
	a.totals.Forgotten = a.members.forgotten
	return a.totals, errors.Join(a.failure(), err)
}

type analysis struct {
	o       Options
	members members
	decoder decode.Decoder
	totals  Totals
	step    Step
	segment decode.Segment

	workers []*worker
	free    chan *batch
	waiting sync.WaitGroup
	ended   uint64 // connections that the reader has ended

	mu        sync.Mutex
	delivered uint64
	early     map[uint64]*Connection // ended, but not the next in order
	failed    error
}

func (a *analysis) read(ctx context.Context, source Source) error {
	var p read.Packet
	last := int64(0)
	for n := 0; ; n++ {
		if n%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := a.failure(); err != nil {
				return nil
			}
		}
		if err := source.Next(&p); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if n == 0 {
			a.totals.FirstNs = p.TimeNs
			a.totals.LastNs = p.TimeNs
		} else if p.TimeNs < last {
			a.totals.ClockStepsBack++
		}
		last = p.TimeNs
		a.totals.LastNs = max(a.totals.LastNs, last)
		if !a.decoder.Decode(&p, &a.segment) {
			continue
		}
		c, from := a.members.find(&a.segment)
		if len(a.workers) > 0 {
			a.dispatch(c, from)
			continue
		}
		if !c.take(&a.segment, from, &a.step) || a.o.Observer == nil {
			continue
		}
		a.step.Segment = &a.segment
		a.step.Client = from == 0
		if err := a.o.Observer.Step(&c.Connection, &a.step); err != nil {
			return err
		}
	}
}

// end finishes a connection: here, or behind its last segment at its worker.
func (a *analysis) end(c *connection) {
	number := a.ended
	a.ended++
	if len(a.workers) == 0 {
		a.deliver(number, c.finish(&a.step))
		return
	}
	w := a.workers[c.worker]
	a.room(w)
	w.filling.items = append(w.filling.items, item{connection: c, end: true, number: number})
}

// deliver calls Done in the order of the ends.
func (a *analysis) deliver(number uint64, c *Connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if number != a.delivered {
		if a.early == nil {
			a.early = map[uint64]*Connection{}
		}
		a.early[number] = c
		return
	}
	for c != nil {
		a.totals.Copies += c.Copies
		if a.o.Done != nil && a.failed == nil {
			a.failed = a.o.Done(c)
		}
		delete(a.early, a.delivered)
		a.delivered++
		c = a.early[a.delivered]
	}
}

func (a *analysis) failure() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed
}

// worker analyses the connections of one share.
type worker struct {
	full    chan *batch
	filling *batch
}

type batch struct{ items []item }

type item struct {
	segment    decode.Segment
	connection *connection
	from       int
	end        bool
	number     uint64
}

// Sizes of the pipeline: 2.5 MB for each worker. With fewer batches the goroutines wait for each
// other more often; 16 take a tenth longer.
const (
	batchItems = 256
	batches    = 64 // batches per worker
)

func (a *analysis) startWorkers(n int) {
	a.free = make(chan *batch, n*batches)
	for range n * batches {
		a.free <- &batch{items: make([]item, 0, batchItems)}
	}
	for range n {
		a.workers = append(a.workers, &worker{full: make(chan *batch, batches), filling: <-a.free})
	}
	for _, w := range a.workers {
		a.waiting.Add(1)
		go func() {
			defer a.waiting.Done()
			a.work(w)
		}()
	}
}

func (a *analysis) work(w *worker) {
	step := Step{spare: maxWaiting / len(a.workers), shares: len(a.workers)}
	for b := range w.full {
		for i := range b.items {
			it := &b.items[i]
			if it.end {
				a.deliver(it.number, it.connection.finish(&step))
			} else {
				it.connection.take(&it.segment, it.from, &step)
			}
			it.connection = nil
		}
		b.items = b.items[:0]
		a.free <- b
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.totals.Unmeasured += step.dropped
}

// room makes room for an item in the batch of a worker.
func (a *analysis) room(w *worker) {
	if len(w.filling.items) == batchItems {
		w.full <- w.filling
		w.filling = <-a.free
	}
}

// dispatch hands a segment to the worker of its connection.
func (a *analysis) dispatch(c *connection, from int) {
	w := a.workers[c.worker]
	a.room(w)
	n := len(w.filling.items)
	w.filling.items = w.filling.items[:n+1]
	it := &w.filling.items[n]
	it.segment = a.segment
	it.connection = c
	it.from = from
	it.end = false
}

func (a *analysis) stopWorkers() {
	for _, w := range a.workers {
		w.full <- w.filling
		close(w.full)
	}
	a.waiting.Wait()
}
