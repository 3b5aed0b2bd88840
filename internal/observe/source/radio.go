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

// Radios observes radios.
type Radios interface {
	// Run delivers records until the context ends, and returns nil then.
	Run(ctx context.Context, deliver func(*tcp.Radio) error) error
	Close() error
}

// addRadios adds the radios of the host and the other ones.
func (o *Opened) addRadios(others func() (Radios, error)) error {
	var all []Radios
	host, err := radio.Open()
	if err == nil {
		all = append(all, host)
	}
	o.RadioError = err
	if others != nil {
		other, err := others()
		if err != nil {
			o.Source = &withRadios{o.Source, all}
			return errors.Join(err, o.Close())
		}
		if other != nil {
			all = append(all, other)
			o.RadioError = nil
		}
	}
	o.Radio = len(all) > 0
	if o.Radio {
		o.Source = &withRadios{o.Source, all}
	}
	return nil
}

// withRadios runs a source of TCP and radios beside each other.
type withRadios struct {
	Source
	radios []Radios
}

func (w *withRadios) Run(ctx context.Context, sink tcp.Sink) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	shared := &tcp.Locked{Sink: sink}
	errs := make([]error, len(w.radios))
	var running sync.WaitGroup
	for i, r := range w.radios {
		running.Go(func() {
			errs[i] = r.Run(ctx, shared.Radio)
			if errs[i] != nil {
				stop()
			}
		})
	}
	err := w.Source.Run(ctx, shared)
	stop()
	running.Wait()
	return errors.Join(append(errs, err)...)
}

func (w *withRadios) Close() error {
	err := w.Source.Close()
	for _, r := range w.radios {
		err = errors.Join(err, r.Close())
	}
	return err
}
