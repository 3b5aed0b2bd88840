package tcp

import (
	"slices"
	"sync"
)

// Loss counts the records that an observation could not deliver. All are totals since its start.
type Loss struct {
	TimeNs int64 `json:"time_ns"`
	// PerCPU counts records that found the ring buffer full, by processor.
	PerCPU []uint64 `json:"lost_per_cpu"`
	// Untracked counts flows that were not followed because the table of flows was full.
	Untracked uint64 `json:"untracked_flows"`
	// Unowned counts flows that a filter by process left out, because they ended before their owner
	// was known.
	Unowned uint64 `json:"unowned_flows"`
	// Orphans counts records of flows whose first record was lost.
	Orphans uint64 `json:"orphan_records"`
	// Missed counts the times that the kernel left a program out because it was running already on
	// that processor, in a system call below a soft interrupt. Each is a record that was never
	// made. Known from kernel 5.12 on.
	Missed uint64 `json:"missed_records"`
	// IPBytes counts bytes of IP packets of this host's sockets, and UDP443Bytes those of UDP from
	// or to port 443, which is mostly QUIC. They are counted on demand.
	IPBytes     uint64 `json:"ip_bytes,omitempty"`
	UDP443Bytes uint64 `json:"udp_443_bytes,omitempty"`
	// SYNACKAgain counts handshakes at this host's listeners whose SYN-ACK was sent again, and
	// SYNACKDone those of them that opened a connection. They are counted on demand, and not with a
	// filter by process: a handshake has no process yet.
	SYNACKAgain uint64 `json:"synack_again,omitempty"`
	SYNACKDone  uint64 `json:"synack_again_done,omitempty"`
}

// Total is the number of records that are missing: lost on all processors, orphaned, or never made.
func (l *Loss) Total() uint64 {
	n := l.Orphans + l.Missed
	for _, c := range l.PerCPU {
		n += c
	}
	return n
}

// Since returns the counts since an earlier time.
func (l *Loss) Since(before *Loss) Loss {
	d := *l
	d.PerCPU = slices.Clone(l.PerCPU)
	for i := range min(len(d.PerCPU), len(before.PerCPU)) {
		d.PerCPU[i] -= before.PerCPU[i]
	}
	d.Untracked -= before.Untracked
	d.Unowned -= before.Unowned
	d.Orphans -= before.Orphans
	d.Missed -= before.Missed
	d.IPBytes -= before.IPBytes
	d.UDP443Bytes -= before.UDP443Bytes
	d.SYNACKAgain -= before.SYNACKAgain
	d.SYNACKDone -= before.SYNACKDone
	return d
}

// Sink receives the output of a live monitor or the content of a recording, from one goroutine. A
// flow comes before its first sample or event, and again with the same ID when more is known. A
// sink must copy the batches and events that it keeps. A flow that it gets does not change any
// more.
//
// Samples of one flow come in the order of time. Between flows, and between samples and events, the
// order holds only to within the flush period (one second).
type Sink interface {
	Flow(*Flow) error
	Samples(*Batch) error
	Event(*Event) error
	Lost(*Loss) error
	// Radio takes a record about the host's radio, which is recorded on demand.
	Radio(*Radio) error
}

// Discard is a Sink that ignores its input. Embed it to implement only a part of Sink.
type Discard struct{}

// Flow does nothing.
func (Discard) Flow(*Flow) error { return nil }

// Samples does nothing.
func (Discard) Samples(*Batch) error { return nil }

// Event does nothing.
func (Discard) Event(*Event) error { return nil }

// Lost does nothing.
func (Discard) Lost(*Loss) error { return nil }

// Radio does nothing.
func (Discard) Radio(*Radio) error { return nil }

// Tee passes everything on to each of its sinks in turn and stops at the first error.
type Tee []Sink

// Flow passes the flow on.
func (t Tee) Flow(f *Flow) error { return t.each(func(s Sink) error { return s.Flow(f) }) }

// Samples passes the batch on.
func (t Tee) Samples(b *Batch) error { return t.each(func(s Sink) error { return s.Samples(b) }) }

// Event passes the event on.
func (t Tee) Event(e *Event) error { return t.each(func(s Sink) error { return s.Event(e) }) }

// Lost passes the counts on.
func (t Tee) Lost(l *Loss) error { return t.each(func(s Sink) error { return s.Lost(l) }) }

// Radio passes the record on.
func (t Tee) Radio(r *Radio) error { return t.each(func(s Sink) error { return s.Radio(r) }) }

func (t Tee) each(f func(Sink) error) error {
	for _, s := range t {
		if err := f(s); err != nil {
			return err
		}
	}
	return nil
}

// Locked passes everything on to one sink, also from several goroutines.
type Locked struct {
	mu   sync.Mutex
	Sink Sink // changed only within Do
}

// Do calls a function while nothing is passed on.
func (l *Locked) Do(f func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return f()
}

// Flow passes the flow on.
func (l *Locked) Flow(f *Flow) error { return l.Do(func() error { return l.Sink.Flow(f) }) }

// Samples passes the batch on.
func (l *Locked) Samples(b *Batch) error { return l.Do(func() error { return l.Sink.Samples(b) }) }

// Event passes the event on.
func (l *Locked) Event(e *Event) error { return l.Do(func() error { return l.Sink.Event(e) }) }

// Lost passes the counts on.
func (l *Locked) Lost(loss *Loss) error { return l.Do(func() error { return l.Sink.Lost(loss) }) }

// Radio passes the record on.
func (l *Locked) Radio(r *Radio) error { return l.Do(func() error { return l.Sink.Radio(r) }) }
