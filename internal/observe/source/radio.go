package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"airtide/internal/observe/bpf"
	"airtide/internal/observe/radio"
	"airtide/internal/tcp"
)

// RadioName is the name of the host's radios among the parts that are observed on demand.
const RadioName = "radio"

// WithNames are the names that ParseWith accepts.
func WithNames() []string {
	names := bpf.WithNames()
	return slices.Insert(names, len(names)-1, RadioName) // "all" is the last one
}

// ParseWith reads names of parts into the options.
func (o *Options) ParseWith(names []string) error {
	var ofBPF []string
	for _, name := range names {
		if !slices.Contains(WithNames(), name) {
			return bpf.UnknownPart(name, WithNames())
		}
		if name != RadioName {
			ofBPF = append(ofBPF, name)
		}
		o.Radio = o.Radio || name == RadioName || name == bpf.WithAll
	}
	var err error
	o.With, err = bpf.ParseWith(ofBPF)
	return err
}

// With are the names of the parts that are observed.
func (o *Opened) With(asked bpf.With) []string {
	var names []string
	if o.Kind == BPF {
		names = asked.Names()
	}
	if o.Radio {
		names = append(names, RadioName)
	}
	return names
}

// RadioNotice explains in one line why the radios are not observed, or is empty.
func (o *Opened) RadioNotice() string {
	if o.RadioError == nil {
		return ""
	}
	return fmt.Sprintf("no data of the radio: %v", o.RadioError)
}

// withRadio runs a source of TCP and the source of the radios beside each other.
type withRadio struct {
	Source
	radio *radio.Source
}

func (w *withRadio) Run(ctx context.Context, sink tcp.Sink) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	shared := &sharedSink{sink: sink}
	var radioErr error
	var running sync.WaitGroup
	running.Go(func() {
		radioErr = w.radio.Run(ctx, shared.Radio)
		if radioErr != nil {
			stop()
		}
	})
	err := w.Source.Run(ctx, shared)
	stop()
	running.Wait()
	return errors.Join(err, radioErr)
}

func (w *withRadio) Close() error { return errors.Join(w.Source.Close(), w.radio.Close()) }

// sharedSink lets two goroutines deliver to one sink.
type sharedSink struct {
	mutex sync.Mutex
	sink  tcp.Sink
}

func (s *sharedSink) Flow(f *tcp.Flow) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.sink.Flow(f)
}

func (s *sharedSink) Samples(b *tcp.Batch) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.sink.Samples(b)
}

func (s *sharedSink) Event(e *tcp.Event) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.sink.Event(e)
}

func (s *sharedSink) Lost(l *tcp.Loss) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.sink.Lost(l)
}

func (s *sharedSink) Radio(r *tcp.Radio) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.sink.Radio(r)
}
