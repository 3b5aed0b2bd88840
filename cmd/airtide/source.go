package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/lab/cellradio"
	"airtide/internal/observe/bpf"
	"airtide/internal/observe/source"
	"airtide/internal/units"
)

// sourceFlags choose the flows that are observed, the source of samples and their density.
type sourceFlags struct {
	selectionFlags
	source, density, attach, btf string
	poll                         time.Duration
	buffer, maxFlows             int
	with                         []string
}

func (f *sourceFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.source, "source", "auto", "source of samples: auto, bpf (per ACK) or diag (polled)")
	fl.StringVar(&f.density, "density", "every",
		"which ACKs become samples: every, change, or at most one per duration (10ms)")
	f.selectionFlags.register(cmd, "only flows")
	durationVar(fl, &f.poll, "poll", "", 100*time.Millisecond, "time between polls of the diag source")
	fl.IntVar(&f.buffer, "buffer-mb", bpf.DefaultBufferBytes>>20,
		"size of the ring of records of each processor, in MiB")
	fl.IntVar(&f.maxFlows, "max-flows", bpf.DefaultMaxFlows, "number of flows that can be followed at a time")
	fl.StringVar(&f.attach, "attach", "",
		"kind of BPF program (default: the best that loads): tp_btf_trusted, tp_btf or raw_tp")
	fl.StringVar(&f.btf, "btf", "", "file with the kernel's BTF, if the kernel has none")
	fl.StringSliceVar(&f.with, "with", nil, "also observe, with bpf (radio with either source): "+
		strings.Join(source.WithNames(), ", "))
	fixed(cmd, "source", "auto", "bpf", "diag")
	fixed(cmd, "with", source.WithNames()...)
	fixed(cmd, "attach", "tp_btf_trusted", "tp_btf", "raw_tp")
	fixed(cmd, "density", "every", "change", "10ms", "100ms", "1s")
}

// options returns the options of the observation. Its errors are usage errors.
func (f *sourceFlags) options() (source.Options, error) {
	o, err := f.parse()
	if err != nil {
		return o, usageError{err}
	}
	return o, nil
}

func (f *sourceFlags) parse() (o source.Options, err error) {
	o.Source, err = source.ParseKind(f.source)
	if err != nil {
		return o, err
	}
	o.Density, err = filter.ParseDensity(f.density)
	if err != nil {
		return o, err
	}
	switch bpf.Attach(f.attach) {
	case bpf.AttachAuto, bpf.AttachTrusted, bpf.AttachTPBTF, bpf.AttachRawTP:
		o.Attach = bpf.Attach(f.attach)
	default:
		return o, fmt.Errorf("--attach %q: want tp_btf_trusted, tp_btf or raw_tp", f.attach)
	}
	if f.buffer < 1 || f.buffer > 1024 {
		return o, fmt.Errorf("--buffer-mb %d: want 1 to 1024", f.buffer)
	}
	if f.maxFlows < 1 || f.maxFlows > 1<<22 {
		return o, fmt.Errorf("--max-flows %d: want 1 to %d", f.maxFlows, 1<<22)
	}
	if f.poll < time.Millisecond {
		return o, fmt.Errorf("--poll %s: want at least 1 ms", units.Duration(f.poll))
	}
	if f.btf != "" {
		if _, err := os.Stat(f.btf); errors.Is(err, fs.ErrNotExist) {
			return o, fmt.Errorf("--btf: %w", err)
		}
	}
	if err := o.ParseWith(f.with); err != nil {
		return o, err
	}
	o.OtherRadios = cellradio.Open
	o.BTFPath = f.btf
	o.Poll = f.poll
	o.BufferBytes = f.buffer << 20
	o.MaxFlows = f.maxFlows
	o.AllNamespaces = os.Geteuid() == 0
	o.Filter, err = f.filter()
	return o, err
}
