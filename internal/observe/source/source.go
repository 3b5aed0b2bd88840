// Package source opens a source of samples and events: the kernel's TCP per ACK by BPF (package
// internal/observe/bpf), or inet_diag polled (package internal/observe/diag).
package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/observe/bpf"
	"airtide/internal/observe/diag"
	"airtide/internal/tcp"
	"airtide/internal/units"
)

// Kind names a source.
type Kind string

// The sources.
const (
	Auto Kind = "auto" // BPF where it runs, else diag
	BPF  Kind = "bpf"
	Diag Kind = "diag"
)

// ParseKind reads the name of a source.
func ParseKind(s string) (Kind, error) {
	switch k := Kind(s); k {
	case Auto, BPF, Diag:
		return k, nil
	}
	return "", fmt.Errorf("source %q: want auto, bpf or diag", s)
}

// Options select the flows and the way to observe them.
type Options struct {
	Source  Kind
	Filter  filter.Filter
	Density filter.Density
	// Poll is the time between two polls of the diag source; 0 means its default.
	Poll time.Duration
	// AllNamespaces makes the diag source look into every network namespace, for which it needs
	// root; the BPF source always sees all.
	AllNamespaces bool
	// BufferBytes and MaxFlows size the BPF source; 0 means its defaults.
	BufferBytes int
	MaxFlows    int
	// Attach forces the program type of the BPF source, "" lets it choose.
	Attach bpf.Attach
	// BTFPath is a file with the kernel's BTF.
	BTFPath string
	// BatchTime is the longest time that samples wait for a full batch.
	BatchTime time.Duration
	// Drain is the time between two looks at the rings of the BPF source. With 0 it follows the
	// load.
	Drain time.Duration
	// NoOwners leaves out the owners of the sockets, and with them all looks into /proc. It cannot
	// be together with a filter by process.
	NoOwners bool
	// With chooses the parts that the BPF source observes on demand.
	With bpf.With
	// Radio also observes the host's radios by nl80211, with either source.
	Radio bool
	// OtherRadios opens radios that Radio also observes, beside those of the host; nil for none. It
	// returns nil if there are none now.
	OtherRadios func() (Radios, error)
}

// Source delivers samples and events to a sink until its context ends.
type Source interface {
	// Run returns nil when the context has ended and everything has been delivered, or the first
	// error.
	Run(ctx context.Context, sink tcp.Sink) error
	// Description is one line for people: the source, its attachment and the missing parts.
	Description() string
	Close() error
}

// Opened is a source and how it was chosen.
type Opened struct {
	Source
	Kind Kind
	// HZ is the kernel's tick rate when the source knows it, else 0.
	HZ int
	// Interval is the time between two polls, 0 where nothing is polled.
	Interval time.Duration
	// Fallback is why auto did not take BPF, nil otherwise.
	Fallback error
	// Radio reports whether radios are observed. RadioError is why they are not although they
	// were asked for.
	Radio      bool
	RadioError error
}

// FallbackNotice explains in one line why inet_diag is polled instead of BPF, or is empty.
func (o *Opened) FallbackNotice() string {
	switch {
	case o.Fallback == nil:
		return ""
	case errors.Is(o.Fallback, os.ErrPermission) && os.Geteuid() != 0:
		return fmt.Sprintf("not root: polling every %s (inet_diag) instead of each ACK", units.Duration(o.Interval))
	}
	return fmt.Sprintf("BPF is not available: polling every %s (inet_diag) instead of each ACK: %v",
		units.Duration(o.Interval), o.Fallback)
}

// Open opens the source that the options ask for. A host without nl80211 has no data of radios,
// which is no error.
func Open(o Options) (*Opened, error) {
	opened, err := openTCP(o)
	if err != nil || !o.Radio {
		return opened, err
	}
	if err := opened.addRadios(o.OtherRadios); err != nil {
		return nil, err
	}
	return opened, nil
}

func openTCP(o Options) (*Opened, error) {
	if o.NoOwners && len(o.Filter.PIDs)+len(o.Filter.Comms) > 0 {
		return nil, errors.New("a filter by process needs to know whose the sockets are")
	}
	if o.With != 0 && o.Source == Diag {
		return nil, errors.New("--with needs the source bpf")
	}
	switch o.Source {
	case BPF:
		return openBPF(o)
	case Diag:
		return openDiag(o)
	}
	opened, err := openBPF(o)
	if err == nil {
		return opened, nil
	}
	if o.With != 0 {
		return nil, fmt.Errorf("--with needs the source bpf: %w", err)
	}
	fallback, diagErr := openDiag(o)
	if diagErr != nil {
		return nil, neither(err, diagErr)
	}
	fallback.Fallback = err
	return fallback, nil
}

// neither gives the reasons why no source could be opened, in one line. A common one appears once.
func neither(bpfErr, diagErr error) error {
	cause := errors.Unwrap(bpfErr)
	if other := errors.Unwrap(diagErr); cause != nil && other != nil && cause.Error() == other.Error() {
		return fmt.Errorf("opening the bpf or the diag source: %w", cause)
	}
	return fmt.Errorf("%w; %w", bpfErr, diagErr)
}

func openBPF(o Options) (*Opened, error) {
	s, err := bpf.Open(bpf.Options{
		Filter: o.Filter, Density: o.Density, BufferBytes: o.BufferBytes, MaxFlows: o.MaxFlows, Attach: o.Attach,
		BTFPath: o.BTFPath, BatchTime: o.BatchTime, Drain: o.Drain, NoOwners: o.NoOwners, With: o.With,
		Aliases: aliases,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the bpf source: %w", err)
	}
	return &Opened{Source: s, Kind: BPF, HZ: s.HZ()}, nil
}

// aliases are the names of airtide's congestion controls that are loaded now.
func aliases() (map[string]string, error) {
	loaded, err := congestion.Registered()
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, e := range loaded {
		names[e.Name] = string(e.Kind)
	}
	return names, nil
}

func openDiag(o Options) (*Opened, error) {
	poll := o.Poll
	if o.Density.Mode == filter.AtMost {
		poll = max(poll, o.Density.Every)
	}
	s, err := diag.New(
		diag.Options{Interval: poll, Filter: o.Filter, AllNamespaces: o.AllNamespaces, NoOwners: o.NoOwners},
	)
	if err != nil {
		return nil, fmt.Errorf("opening the diag source: %w", err)
	}
	return &Opened{Source: &polled{s, o.Density.Mode}, Kind: Diag, Interval: s.Interval()}, nil
}

// polled is the diag source with the density applied. The source polls all flows alike, so polled
// drops the samples that the density leaves out.
type polled struct {
	*diag.Source
	mode filter.Mode
}

func (p *polled) Run(ctx context.Context, sink tcp.Sink) error {
	if p.mode == filter.OnChange {
		sink = newChanges(sink)
	}
	return p.Source.Run(ctx, sink)
}

func (p *polled) Close() error {
	p.Source.Close()
	return nil
}
