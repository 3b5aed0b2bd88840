// Package export writes a recording or a live monitor's data in the formats of other tools: Parquet
// and CSV tables for pandas and DuckDB, JSON lines for scripts, and Perfetto traces for Android's
// trace viewer. docs/reference/export-formats.md lists the columns.
//
// An [Exporter] is a [tcp.Sink]. It writes next to its destination and moves the result there in
// [Exporter.Close], so a file with the final name is always complete. If anything fails, it removes
// the output; the recording still exists, so the export can be repeated.
//
// A recording can be read twice. A first pass through a [Survey] finds the fields with values and
// the last description of each flow. This gives narrower tables, and Perfetto tracks in the right
// process.
package export

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"airtide/internal/sys/file"
	"airtide/internal/tcp"
)

// Format is an output format, by the name that the command line uses.
type Format string

// The formats.
const (
	Parquet   Format = "parquet"
	CSV       Format = "csv"
	JSONLines Format = "jsonl"
	Perfetto  Format = "perfetto"
)

// Formats lists the formats in the order in which help texts name them.
func Formats() []Format { return []Format{Parquet, CSV, JSONLines, Perfetto} }

// ParseFormat finds a format by name.
func ParseFormat(name string) (Format, error) {
	var names []string
	for _, f := range Formats() {
		if string(f) == name {
			return f, nil
		}
		names = append(names, string(f))
	}
	return "", fmt.Errorf("unknown export format %q: want one of %s", name, strings.Join(names, ", "))
}

// HasTables reports whether the format is several tables, of which one can be chosen.
func (f Format) HasTables() bool { return f == Parquet || f == CSV }

// Table names one of the tables of a recording.
type Table string

// The tables.
const (
	Samples Table = "samples"
	Events  Table = "events"
	Flows   Table = "flows"
	Radio   Table = "radio" // only of recordings with data of the radio, or if it is asked for
)

// ParseTable finds a table by name.
func ParseTable(name string) (Table, error) {
	switch t := Table(name); t {
	case Samples, Events, Flows, Radio:
		return t, nil
	}
	return "", fmt.Errorf("unknown table %q: want samples, events, flows or radio", name)
}

// Options configure an export.
type Options struct {
	// Fields are the fields of a sample to write, in this order. Nil means all fields, or those of
	// DefaultCounters for Perfetto.
	Fields []tcp.Field
	// Flows holds the last description of each flow, if a first pass has read it.
	Flows map[tcp.FlowID]*tcp.Flow
	// Overwrite replaces existing files. Without it, an existing file is an error.
	Overwrite bool
	// Table is the only table to write of Parquet or CSV. "" means all of them, but Samples in a
	// single stream, which holds one.
	Table Table
	// Radio makes the table of the radio one of all tables.
	Radio bool
	// Stdout receives the output for the path "-".
	Stdout io.Writer
}

func (o *Options) fields() []tcp.Field {
	if o.Fields != nil {
		return o.Fields
	}
	all := make([]tcp.Field, tcp.NumFields)
	for f := range all {
		all[f] = tcp.Field(f)
	}
	return all
}

// encoder is the interface of a format: a sink, and finish, which writes the end.
type encoder interface {
	tcp.Sink
	finish() error
}

// Exporter is a sink that writes a file. After an error it accepts no data and returns the same
// error again.
type Exporter struct {
	encoder encoder
	files   *outputs
	final   map[tcp.FlowID]*tcp.Flow // last descriptions, if they are known
	err     error
	closed  bool
}

// New begins an export to a path, or to Options.Stdout when the path is "-".
//
// Parquet and CSV are several tables. A path that ends in "/" or is a directory receives samples,
// events and flows as files of these names; of any other path, OUT.parquet say, the siblings are
// OUT.events.parquet and OUT.flows.parquet. With Options.Radio there is a table radio as well.
// Options.Table alone gets the path itself.
func New(format Format, path string, meta Meta, options Options) (*Exporter, error) {
	if _, err := ParseFormat(string(format)); err != nil {
		return nil, err
	}
	if options.Table != "" {
		if _, err := ParseTable(string(options.Table)); err != nil {
			return nil, err
		}
	}
	x := &Exporter{final: options.Flows, files: &outputs{overwrite: options.Overwrite, stdout: options.Stdout}}
	var err error
	switch format {
	case Parquet:
		x.encoder, err = newParquet(x.files, path, &meta, &options)
	case CSV:
		x.encoder, err = newCSV(x.files, path, &meta, &options)
	case JSONLines:
		x.encoder, err = newJSONLines(x.files, path, &meta, &options)
	case Perfetto:
		x.encoder, err = newPerfetto(x.files, path, &meta, &options)
	}
	if err != nil {
		x.files.remove()
		if _, taken := errors.AsType[*file.ExistsError](err); taken {
			return nil, err
		}
		return nil, fmt.Errorf("exporting to %s: %w", format, err)
	}
	return x, nil
}

// Flow announces a flow. It gets the congestion control that it used last, because that of the
// opening is often replaced before the first byte.
func (x *Exporter) Flow(f *tcp.Flow) error {
	if last := x.final[f.ID]; last != nil && last.CongestionControl != f.CongestionControl {
		named := *f
		named.CongestionControl = last.CongestionControl
		f = &named
	}
	return x.pass(func() error { return x.encoder.Flow(f) })
}

// Samples writes a batch.
func (x *Exporter) Samples(b *tcp.Batch) error {
	return x.pass(func() error { return x.encoder.Samples(b) })
}

// Event writes an event.
func (x *Exporter) Event(e *tcp.Event) error {
	return x.pass(func() error { return x.encoder.Event(e) })
}

// Lost writes the counts of lost records.
func (x *Exporter) Lost(l *tcp.Loss) error {
	return x.pass(func() error { return x.encoder.Lost(l) })
}

// Radio writes a record about a radio.
func (x *Exporter) Radio(r *tcp.Radio) error {
	return x.pass(func() error { return x.encoder.Radio(r) })
}

// pass forwards a call unless the export has failed. If the call fails, pass removes the files.
func (x *Exporter) pass(call func() error) error {
	if x.err != nil {
		return x.err
	}
	if err := call(); err != nil {
		return x.fail(err)
	}
	return nil
}

func (x *Exporter) fail(err error) error {
	x.err = fmt.Errorf("exporting: %w", err)
	x.files.remove()
	return x.err
}

// Close completes the files and gives them their names. After a failure it returns the first error.
func (x *Exporter) Close() error {
	if x.closed || x.err != nil {
		return x.err
	}
	x.closed = true
	if err := x.encoder.finish(); err != nil {
		return x.fail(err)
	}
	if err := x.files.publish(); err != nil {
		return x.fail(err)
	}
	return nil
}

// Abort removes the output, for instance after an interruption by the user. After Close it does
// nothing.
func (x *Exporter) Abort() {
	if !x.closed && x.err == nil {
		_ = x.fail(errAborted)
	}
}

var errAborted = errors.New("the export was interrupted")

// Paths lists the files that the export writes, in the order samples, events, flows.
func (x *Exporter) Paths() []string { return x.files.paths() }
