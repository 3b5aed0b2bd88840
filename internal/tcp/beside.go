package tcp

import "sync"

// Beside is a Sink that passes everything on to its sinks, which work at the same time. It collects
// records until the next batch of samples or maxCollected, so that the sinks rarely wait for each
// other. Each sink is still called from one goroutine at a time, in the order of the records. An
// error of a sink comes with a later record, or with Flush, which the last record needs.
type Beside struct {
	sinks   []Sink
	pending []func(Sink) error
	events  []Event // of pending
	errs    []error // by sink
}

// maxCollected is the number of records that are collected. Their memory stays small, and starting
// the sinks takes less time than they need.
const maxCollected = 1024

// NewBeside returns a Beside of sinks.
func NewBeside(sinks ...Sink) *Beside {
	return &Beside{sinks: sinks, events: make([]Event, 0, maxCollected), errs: make([]error, len(sinks))}
}

// Flow takes a flow, which must not change any more.
func (b *Beside) Flow(f *Flow) error { return b.collect(func(s Sink) error { return s.Flow(f) }) }

// Samples takes a batch and passes it on before it returns.
func (b *Beside) Samples(batch *Batch) error {
	b.pending = append(b.pending, func(s Sink) error { return s.Samples(batch) })
	return b.Flush()
}

// Event takes an event.
func (b *Beside) Event(e *Event) error {
	b.events = append(b.events, *e)
	kept := &b.events[len(b.events)-1]
	return b.collect(func(s Sink) error { return s.Event(kept) })
}

// Lost takes counts of lost data and passes them on before it returns.
func (b *Beside) Lost(l *Loss) error {
	b.pending = append(b.pending, func(s Sink) error { return s.Lost(l) })
	return b.Flush()
}

// Radio takes a record about a radio and passes it on before it returns.
func (b *Beside) Radio(r *Radio) error {
	b.pending = append(b.pending, func(s Sink) error { return s.Radio(r) })
	return b.Flush()
}

func (b *Beside) collect(pass func(Sink) error) error {
	b.pending = append(b.pending, pass)
	if len(b.pending) < maxCollected {
		return nil
	}
	return b.Flush()
}

// Flush passes on what was collected and waits for all sinks. It returns the first error of the
// first sink that has one.
func (b *Beside) Flush() error {
	var running sync.WaitGroup
	for i, sink := range b.sinks {
		running.Go(func() { b.errs[i] = passAll(b.pending, sink) })
	}
	running.Wait()
	clear(b.pending)
	b.pending = b.pending[:0]
	b.events = b.events[:0]
	for _, err := range b.errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func passAll(pending []func(Sink) error, sink Sink) error {
	for _, pass := range pending {
		if err := pass(sink); err != nil {
			return err
		}
	}
	return nil
}
