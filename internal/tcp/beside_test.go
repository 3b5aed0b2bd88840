package tcp

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// heard is a sink that keeps its calls as text, and fails at one of them.
type heard struct {
	calls  []string
	failAt int // 0: never
}

var errHeard = errors.New("no space left")

func (h *heard) take(call string) error {
	h.calls = append(h.calls, call)
	if len(h.calls) == h.failAt {
		return errHeard
	}
	return nil
}

func (h *heard) Flow(f *Flow) error     { return h.take(fmt.Sprint("flow ", f.ID)) }
func (h *heard) Samples(b *Batch) error { return h.take(fmt.Sprint("samples ", b.TimeNs)) }
func (h *heard) Event(e *Event) error   { return h.take(fmt.Sprint("event ", e.TimeNs)) }
func (h *heard) Lost(l *Loss) error     { return h.take(fmt.Sprint("lost ", l.TimeNs)) }
func (h *heard) Radio(r *Radio) error   { return h.take(fmt.Sprint("radio ", r.TimeNs)) }

// play passes records of all kinds on. It changes all that is lent behind each call.
func play(sink Sink) error {
	batch := NewBatch(1)
	batch.Resize(1)
	var (
		event Event
		loss  Loss
		radio Radio
		err   error
	)
	for i := range 3*maxCollected + 7 {
		at := int64(i)
		event.TimeNs = at
		err = errors.Join(err, sink.Flow(&Flow{ID: FlowID(i)}), sink.Event(&event))
		if i%100 == 50 {
			batch.TimeNs[0] = at
			loss.TimeNs = at
			radio.TimeNs = at
			err = errors.Join(err, sink.Samples(batch), sink.Lost(&loss), sink.Radio(&radio))
		}
	}
	return err
}

// TestBesidePassesEverythingOnInOrder compares what two sinks get with what one gets directly.
func TestBesidePassesEverythingOnInOrder(t *testing.T) {
	var direct, first, second heard
	if err := play(&direct); err != nil {
		t.Fatal(err)
	}
	b := NewBeside(&first, &second)
	if err := errors.Join(play(b), b.Flush()); err != nil {
		t.Fatal(err)
	}
	for _, got := range []*heard{&first, &second} {
		if !slices.Equal(got.calls, direct.calls) {
			t.Errorf("a sink got %d records, or others than the %d that were passed on", len(got.calls),
				len(direct.calls))
		}
	}
}

// TestBesideReturnsTheErrorOfASink covers an error behind a batch, and one of the last records.
func TestBesideReturnsTheErrorOfASink(t *testing.T) {
	b := NewBeside(&heard{}, &heard{failAt: 1})
	if err := play(b); !errors.Is(err, errHeard) {
		t.Errorf("error %v, want %v", err, errHeard)
	}
	b = NewBeside(&heard{}, &heard{failAt: 1})
	if err := b.Flow(&Flow{ID: 1}); err != nil {
		t.Errorf("error %v of a flow that is only collected", err)
	}
	if err := b.Flush(); !errors.Is(err, errHeard) {
		t.Errorf("error %v, want %v", err, errHeard)
	}
}
