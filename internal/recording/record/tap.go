package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"airtide/internal/observe/source"
	"airtide/internal/recording/trace"
	"airtide/internal/sys/clock"
	"airtide/internal/tcp"
)

// closedKept is the time for which a closed flow is still defined in a recording that begins.
const closedKept = 5 * time.Second

// Tap is a sink that the user switches on and off: each time on makes a new recording of the chosen
// flows. A recording that fails ends, and the source of the tap goes on.
type Tap struct {
	dir      string
	describe func(label string) trace.Metadata
	now      func() time.Time

	mu    sync.Mutex
	flows map[tcp.FlowID]*tapped
	// interfaces are the last records of the radios' interfaces.
	interfaces map[tcp.RadioID]tcp.Radio
	writer     *trace.Writer // nil while off
	path       string        // path of the present or the last recording
	files      []string      // recordings that ended well
	err        error         // error of the last recording
	failed     []error       // errors of all recordings
	chosen     map[tcp.FlowID]bool
	choose     func(*tcp.Flow) bool // nil for all flows
	kept       *tcp.Batch           // scratch of Samples
	row        tcp.Sample           // scratch of Samples
	loss       tcp.Loss             // loss since the observation began
	before     tcp.Loss             // loss before the recording began
	flushed    time.Time
}

// tapped is a flow, and when it closed.
type tapped struct {
	flow   tcp.Flow
	closed time.Time
}

// NewTap returns a tap of the source that is off. Its recordings go into the directory.
func NewTap(dir string, o Options, opened *source.Opened) *Tap {
	return newTap(dir, func(label string) trace.Metadata {
		o.Label = label
		return metadata(o, opened)
	})
}

func newTap(dir string, describe func(label string) trace.Metadata) *Tap {
	return &Tap{
		dir: dir, describe: describe, now: time.Now, flows: map[tcp.FlowID]*tapped{}, kept: tcp.NewBatch(0),
		interfaces: map[tcp.RadioID]tcp.Radio{},
	}
}

// Toggle starts a recording named after the time, or ends the present one. It never overwrites a
// file. The label is kept in the recording. A flow is recorded from the first description on that
// choose accepts; nil accepts all.
func (t *Tap) Toggle(label string, choose func(*tcp.Flow) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.writer != nil {
		t.end(nil)
		return
	}
	t.path = filepath.Join(t.dir, t.now().Format("airtide-20060102-150405.atr"))
	if _, err := os.Lstat(t.path); err == nil {
		t.fail(fmt.Errorf("recording to %s: %w", t.path, os.ErrExist))
		return
	}
	w, err := trace.Create(t.path, t.describe(label), trace.Options{})
	if err != nil {
		t.fail(err)
		return
	}
	t.writer = w
	t.err = nil
	t.flushed = t.now()
	t.before = t.loss
	t.choose = choose
	t.chosen = map[tcp.FlowID]bool{}
	for _, r := range t.interfaces {
		r.TimeNs = clock.Now()
		t.check(w.Radio(&r))
		if t.writer == nil {
			return
		}
	}
	for _, f := range t.flows {
		t.define(&f.flow)
		if t.writer == nil {
			return
		}
	}
}

// define writes a flow if it is chosen.
func (t *Tap) define(f *tcp.Flow) {
	if t.choose == nil || t.chosen[f.ID] || t.choose(f) {
		t.chosen[f.ID] = true
		t.check(t.writer.Flow(f))
	}
}

func (t *Tap) fail(err error) {
	t.err = err
	t.failed = append(t.failed, err)
}

// State returns the file of the present or the last recording ("" before the first), whether a
// recording is under way, and the last one's error. It writes the received data first.
func (t *Tap) State() (path string, on bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if t.writer != nil && now.Sub(t.flushed) >= flushTime {
		t.flushed = now
		t.check(t.writer.Flush())
	}
	for id, f := range t.flows {
		if !f.closed.IsZero() && now.Sub(f.closed) > closedKept {
			delete(t.flows, id)
		}
	}
	return t.path, t.writer != nil, t.err
}

// Close ends the present recording. It returns the recordings that ended well, and the errors of
// the others.
func (t *Tap) Close() ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.writer != nil {
		t.end(nil)
	}
	return t.files, errors.Join(t.failed...)
}

// check ends the recording if a write failed. The data written before stays readable.
func (t *Tap) check(err error) {
	if err != nil {
		t.end(err)
	}
}

func (t *Tap) end(err error) {
	closeErr := t.writer.Close()
	t.writer = nil
	if err == nil {
		err = closeErr
	}
	if err != nil {
		t.fail(err)
		return
	}
	t.files = append(t.files, t.path)
}

// Flow keeps a flow's definition for recordings to come, and writes it.
func (t *Tap) Flow(f *tcp.Flow) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flows[f.ID] = &tapped{flow: *f}
	if t.writer != nil {
		t.define(f)
	}
	return nil
}

// Samples writes the rows of chosen flows.
func (t *Tap) Samples(b *tcp.Batch) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.writer == nil {
		return nil
	}
	if t.choose != nil {
		t.kept.Reset()
		for i, id := range b.Flow {
			if t.chosen[id] {
				b.Row(i, &t.row)
				t.kept.Append(&t.row)
			}
		}
		b = t.kept
		if b.Len() == 0 {
			return nil
		}
	}
	t.check(t.writer.Samples(b))
	return nil
}

// Event writes an event of a chosen flow.
func (t *Tap) Event(e *tcp.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.flows[e.Flow]; f != nil && e.Kind == tcp.EventClose {
		f.closed = t.now()
	}
	if t.writer != nil && (t.choose == nil || t.chosen[e.Flow]) {
		t.check(t.writer.Event(e))
	}
	return nil
}

// Lost writes the losses since the recording began.
func (t *Tap) Lost(l *tcp.Loss) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.loss = *l
	t.loss.PerCPU = append([]uint64(nil), l.PerCPU...)
	if t.writer != nil {
		since := l.Since(&t.before)
		t.check(t.writer.Lost(&since))
	}
	return nil
}

// Radio writes a record about a radio. The last one of each interface is kept for recordings to
// come.
func (t *Tap) Radio(r *tcp.Radio) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.Kind == tcp.RadioInterface {
		t.interfaces[r.ID()] = *r
	}
	if t.writer != nil {
		t.check(t.writer.Radio(r))
	}
	return nil
}
