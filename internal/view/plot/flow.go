package plot

import (
	"slices"

	"airtide/internal/tcp"
)

// FlowSeries is the data of one flow.
type FlowSeries struct {
	Flow tcp.Flow
	// Samples and Events count the samples and events within the bounds.
	Samples, Events int
	moved
	// FirstNs and LastNs are the times of the first and the last sample or event. The last value
	// of a field is held until LastNs.
	FirstNs, LastNs int64

	series    *Series
	controls  []controlChange
	held      []int64 // last values before the start of the figure, one per field
	curves    []curve // one per field
	caChanges curve   // the congestion state by its own events, which may fall between samples
	marks     [numMarkClasses]marks
}

// maxControls bounds the changes of the congestion control that are drawn. More would not be told
// apart.
const maxControls = 256

// controlChange is a change of the congestion control.
type controlChange struct {
	ns   int64
	name string
}

// moved counts the bytes that a flow moves.
type moved struct {
	// Bytes is the growth of the acknowledged or received bytes within the bounds, the greater of
	// both.
	Bytes    int64
	sampled  bool
	counters [2]int64 // acknowledged and received bytes at the first sample
}

// add takes row i of a batch.
func (m *moved) add(b *tcp.Batch, i int) {
	acked := max(0, b.Cols[tcp.AckedBytes][i])
	received := max(0, b.Cols[tcp.ReceivedBytes][i])
	if !m.sampled {
		m.counters = [2]int64{acked, received}
	}
	m.sampled = true
	m.Bytes = max(m.Bytes, acked-m.counters[0], received-m.counters[1])
}

// reaches notes that the flow was alive at time t. It is false after the end of the figure.
func (fs *FlowSeries) reaches(t, from, to int64) bool {
	if t > to {
		if fs.FirstNs <= to { // its last value is held until the end of the figure
			fs.LastNs = max(fs.LastNs, to)
		}
		return false
	}
	fs.FirstNs = min(fs.FirstNs, max(t, from))
	fs.LastNs = max(fs.LastNs, t)
	return true
}

// curve is the curve of a field, empty if the field was always absent.
func (fs *FlowSeries) curve(m tcp.Field) *curve {
	i, ok := slices.BinarySearch(fs.series.fields, m)
	if !ok {
		return &curve{}
	}
	c := &fs.curves[i]
	if c.empty() && fs.held[i] != tcp.Absent && fs.Samples == 0 && fs.LastNs > fs.start() {
		c.add(fs.start(), fs.held[i]) // no sample lies within the bounds, but the flow lived beyond them
	}
	return c
}

func (fs *FlowSeries) start() int64 { return fs.series.o.OriginNs + int64(fs.series.o.From) }
