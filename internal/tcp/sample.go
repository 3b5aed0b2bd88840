package tcp

import (
	"math"
	"slices"
)

// Absent is the value of a field that was not there: the source cannot see it, the kernel has not
// measured it yet, or it belongs to another congestion control. It is never a zero.
const Absent = math.MinInt64

// Sample is one row: the state of a flow at a time. Values holds the stored and the computed
// fields.
type Sample struct {
	TimeNs int64
	Flow   FlowID
	Values [NumFields]int64
}

// Get returns a field's value and whether it is there.
func (s *Sample) Get(f Field) (int64, bool) {
	v := s.Values[f]
	return v, v != Absent
}

// Compute sets the computed fields from the stored ones.
func (s *Sample) Compute() {
	for f := NumStored; int(f) < NumFields; f++ {
		s.Values[f] = computed(f, func(g Field) int64 { return s.Values[g] })
	}
}

// Batch is a number of samples as columns: row i is TimeNs[i], Flow[i] and Cols[f][i] for each
// stored field f. Cols has a column for every stored field, with Absent for missing values.
type Batch struct {
	TimeNs []int64
	Flow   []FlowID
	Cols   [NumStored][]int64
}

// NewBatch makes an empty batch with room for n rows.
func NewBatch(n int) *Batch {
	// Columns of a power of two would all fall into the same sets of the processor's cache, and a
	// row touches each of them: a stride of nine cache lines more spreads them.
	const spread = 9 * 64 / 8
	b := &Batch{TimeNs: make([]int64, 0, n), Flow: make([]FlowID, 0, n)}
	stride := n + spread
	all := make([]int64, stride*int(NumStored))
	for f := range b.Cols {
		b.Cols[f] = all[f*stride : f*stride : f*stride+n]
	}
	return b
}

// Len is the number of rows.
func (b *Batch) Len() int { return len(b.TimeNs) }

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() { b.Resize(0) }

// Resize sets the number of rows, growing the memory when needed. New rows hold arbitrary old
// values.
func (b *Batch) Resize(n int) {
	b.TimeNs = resize(b.TimeNs, n)
	b.Flow = resize(b.Flow, n)
	for f := range b.Cols {
		b.Cols[f] = resize(b.Cols[f], n)
	}
}

func resize[T any](s []T, n int) []T {
	return slices.Grow(s, max(0, n-len(s)))[:n]
}

// Append adds the stored fields of a row.
func (b *Batch) Append(s *Sample) {
	b.TimeNs = append(b.TimeNs, s.TimeNs)
	b.Flow = append(b.Flow, s.Flow)
	for f := range b.Cols {
		b.Cols[f] = append(b.Cols[f], s.Values[f])
	}
}

// Row copies row i into s, computed fields included.
func (b *Batch) Row(i int, s *Sample) {
	s.TimeNs = b.TimeNs[i]
	s.Flow = b.Flow[i]
	for f := range b.Cols {
		s.Values[f] = b.Cols[f][i]
	}
	s.Compute()
}

// At returns a stored or computed field of row i, Absent if it is missing.
func (b *Batch) At(f Field, i int) int64 {
	if f < NumStored {
		return b.Cols[f][i]
	}
	return computed(f, func(g Field) int64 { return b.Cols[g][i] })
}

func computed(f Field, at func(Field) int64) int64 {
	switch f {
	case UnackedBytes:
		return difference(at(SentBytes), at(AckedBytes))
	case UnsentBytes:
		return difference(at(WrittenBytes), at(SentBytes))
	case SendQueuedBytes:
		return difference(at(WrittenBytes), at(AckedBytes))
	case ReceiveQueuedBytes:
		return difference(at(ReceivedBytes), at(ReadBytes))
	case InFlightBytes:
		packets := at(InFlightPackets)
		mss := at(MSSBytes)
		if packets == Absent || mss == Absent {
			return Absent
		}
		inFlight := packets * mss
		if unacked := difference(at(SentBytes), at(AckedBytes)); unacked != Absent && at(RetransOutPackets) == 0 {
			inFlight = min(inFlight, unacked)
		}
		return inFlight
	case Direction:
		switch segment := at(SegmentBytes); {
		case segment == Absent:
			return Absent
		case segment > 0:
			return DirectionData
		}
		return DirectionAck
	}
	return Absent
}

func difference(a, b int64) int64 {
	if a == Absent || b == Absent {
		return Absent
	}
	return a - b
}

// Sources are the stored fields that a field is made from: for a stored one, itself.
func (f Field) Sources() []Field {
	switch f {
	case UnackedBytes:
		return []Field{SentBytes, AckedBytes}
	case UnsentBytes:
		return []Field{WrittenBytes, SentBytes}
	case SendQueuedBytes:
		return []Field{WrittenBytes, AckedBytes}
	case ReceiveQueuedBytes:
		return []Field{ReceivedBytes, ReadBytes}
	case InFlightBytes:
		return []Field{InFlightPackets, MSSBytes, SentBytes, AckedBytes, RetransOutPackets}
	case Direction:
		return []Field{SegmentBytes}
	}
	return []Field{f}
}
