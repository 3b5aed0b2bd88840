package steplog

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/sys/file"
)

// Writer records steps in a file. The first error ends the recording, and Close returns it. A
// Writer is not safe for concurrent use.
type Writer struct {
	file    *file.Output
	zip     *gzip.Writer
	encoder *json.Encoder
	peers   peers
	aliases aliases
	err     error
}

// Create begins a recording in a new file that only its owner can read. It replaces an old one.
func Create(path string) (*Writer, error) {
	out, err := file.Create(path, true)
	if err != nil {
		return nil, fmt.Errorf("recording steps: %w", err)
	}
	if err := out.Publish(); err != nil { // a log is useful from its first step on
		out.Discard()
		return nil, fmt.Errorf("recording steps: %w", err)
	}
	w := &Writer{file: out, zip: gzip.NewWriter(out), aliases: aliases{}}
	w.encoder = json.NewEncoder(w.zip)
	return w, nil
}

// Begin records the configuration of a session before its steps.
func (w *Writer) Begin(c control.Config) {
	w.peers = peers{}
	w.write(entry{Session: sessionOf(c)})
}

// Step records one step.
func (w *Writer) Step(now time.Duration, in control.Inputs, out control.Outputs) {
	in, out = w.aliases.rename(in, out)
	e := entry{Now: now, In: &in, Out: &out}
	in.Peers, e.Gone = w.peers.changes(in.Peers)
	w.write(e)
}

func (w *Writer) write(e entry) {
	if w.err == nil {
		w.err = w.encoder.Encode(e)
	}
}

// Close ends the recording.
func (w *Writer) Close() error {
	if err := cmp.Or(w.err, w.zip.Close(), w.file.Close()); err != nil {
		return fmt.Errorf("recording steps: %w", err)
	}
	return nil
}
