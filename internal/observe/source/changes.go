package source

import (
	"time"

	"airtide/internal/tcp"
)

// changing are the fields whose change makes a sample: those of the BPF programs (dense_enough in
// bpf/monitor/sample.h) as far as inet_diag tells them. It has no count of the segments that were
// ever marked lost; those that are marked now stand for it.
var changing = [...]tcp.Field{
	tcp.CwndPackets, tcp.SsthreshPackets, tcp.CAStateField, tcp.LostOutPackets, tcp.RetransmitsPackets, tcp.Backoff,
	tcp.StateField, // rows at its changes come at every density
}

// limitWindow is the least distance of two samples that are compared for a limit. The kernel counts
// limited time in ticks of up to 10 ms, so a lasting limit may not show between two polls.
const limitWindow = int64(20 * time.Millisecond)

// changes lets through the samples that differ from the flow's last one.
type changes struct {
	tcp.Sink
	last map[tcp.FlowID]*shown
	kept *tcp.Batch
	row  tcp.Sample
}

func newChanges(sink tcp.Sink) *changes {
	return &changes{Sink: sink, last: map[tcp.FlowID]*shown{}, kept: tcp.NewBatch(0)}
}

// shown holds a flow's last situation, and the limited times at the last look at them.
type shown struct {
	situation                situation
	timeNs, rwndUs, sndbufUs int64
}

// situation holds the compared values. A sample passes if its situation differs from the last one.
type situation struct {
	values [len(changing)]int64
	// Whether the peer's window or the send buffer was a limit. The kernel does not show the
	// present limit itself, but its time grows.
	rwnd, sndbuf bool
}

func (c *changes) Samples(b *tcp.Batch) error {
	c.kept.Reset()
	for i, id := range b.Flow {
		if c.differs(b, i, id) {
			b.Row(i, &c.row)
			c.kept.Append(&c.row)
		}
	}
	if c.kept.Len() == 0 {
		return nil
	}
	return c.Sink.Samples(c.kept)
}

// differs reports whether row i shows something new of its flow, and remembers it.
func (c *changes) differs(b *tcp.Batch, i int, id tcp.FlowID) bool {
	last, known := c.last[id]
	if !known {
		last = &shown{}
		c.last[id] = last
	}
	now := last.situation
	for k, f := range changing {
		now.values[k] = b.Cols[f][i]
	}
	if timeNs := b.TimeNs[i]; !known || timeNs-last.timeNs >= limitWindow {
		rwnd := b.Cols[tcp.RwndLimitedUs][i]
		sndbuf := b.Cols[tcp.SndbufLimitedUs][i]
		now.rwnd = known && rwnd > last.rwndUs
		now.sndbuf = known && sndbuf > last.sndbufUs
		last.timeNs = timeNs
		last.rwndUs = rwnd
		last.sndbufUs = sndbuf
	}
	news := !known || now != last.situation
	last.situation = now
	return news
}

func (c *changes) Event(e *tcp.Event) error {
	if e.Kind == tcp.EventClose {
		delete(c.last, e.Flow)
	}
	return c.Sink.Event(e)
}
