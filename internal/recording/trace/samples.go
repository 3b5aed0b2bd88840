package trace

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"airtide/internal/tcp"
)

// Column ids in files that this package writes. A file names its columns itself, so they may differ
// between versions.
const (
	columnTime  = 0
	columnFlow  = 1
	columnField = 2 // column of tcp.Field 0
	numColumns  = columnField + int(tcp.NumStored)
)

// references lists the fields that closely follow another field. tcp_probe fires before the kernel
// processes the segment, so the socket's values result from the previous segment.
var references = [tcp.NumStored]struct {
	field tcp.Field
	lag   int
	used  bool
}{
	tcp.AckedBytes:      {tcp.AckBytes, 1, true},
	tcp.SendWindowBytes: {tcp.PeerWindowBytes, 1, true},
	tcp.ReceivedBytes:   {tcp.SeqBytes, 0, true},
}

// samplesEncoder turns batches into the payloads of samples blocks.
type samplesEncoder struct {
	columnEncoder
	order      []uint16 // the batch's rows sorted by flow; nil when they are so already
	swap, keep []uint16
	flow       []int64
	difference []int64
	ahead      []int64
}

// rows is a part of a batch: at most MaxBlockRows rows.
type rows struct {
	batch    *tcp.Batch
	from, to int
}

// encode fills head and body.
func (e *samplesEncoder) encode(r rows) {
	e.head = e.head[:0]
	e.body = e.body[:0]
	flow := r.batch.Flow[r.from:r.to]
	e.order = nil
	if !slices.IsSorted(flow) {
		e.sortByFlow(flow)
	}
	e.column(columnTime, r.batch.TimeNs[r.from:r.to])
	if allEqual(flow) {
		e.constant(columnFlow, int64(flow[0]))
	} else {
		e.flow = slices.Grow(e.flow[:0], len(flow))[:len(flow)]
		for i, f := range flow {
			e.flow[i] = int64(f)
		}
		e.column(columnFlow, e.flow)
	}
	for f := range r.batch.Cols {
		v := r.batch.Cols[f][r.from:r.to]
		if ref := references[f]; ref.used {
			e.following(f, v, r.batch.Cols[ref.field][r.from:r.to])
		} else {
			e.column(columnField+f, v)
		}
	}
}

// payload appends the payload of a samples block to b, after encode.
func (e *samplesEncoder) payload(b []byte) []byte {
	b = append(b, 0, 0, 0, 0)
	headAt := len(b)
	b = compress(b, e.head)
	binary.LittleEndian.PutUint32(b[headAt-4:], uint32(len(b)-headAt))
	return append(b, e.body...)
}

// column adds a column.
func (e *samplesEncoder) column(id int, v []int64) {
	if allEqual(v) {
		e.constant(id, v[0])
		return
	}
	e.varying(id, v, e.order, reference{})
}

// following adds a column as its difference to the column that it follows, if that is shorter.
func (e *samplesEncoder) following(f int, v, ahead []int64) {
	id := columnField + f
	ref := references[f]
	if allEqual(v) {
		e.constant(id, v[0])
		return
	}
	if e.order != nil {
		e.ahead = gather(e.ahead, ahead, e.order)
		e.difference = gather(e.difference, v, e.order)
		ahead = e.ahead
		v = e.difference
	}
	if !worthReference(v, ahead, ref.lag) {
		e.varying(id, v, nil, reference{})
		return
	}
	e.difference = slices.Grow(e.difference[:0], len(v))[:len(v)]
	subtract(e.difference, v, ahead, ref.lag)
	v = e.difference
	if allEqual(v) {
		e.describe(id, 0, v[0], reference{columnField + int(ref.field), ref.lag}, 0)
		return
	}
	e.varying(id, v, nil, reference{columnField + int(ref.field), ref.lag})
}

// subtract writes v[i] - ahead[i-lag] for each row. Before the first row, ahead is taken to be
// ahead[0]. difference may be v.
func subtract(difference, v, ahead []int64, lag int) {
	for i := range min(lag, len(v)) {
		difference[i] = v[i] - ahead[0]
	}
	if lag >= len(v) {
		return
	}
	ahead = ahead[:len(v)-lag]
	difference = difference[lag:]
	v = v[lag:]
	for i, a := range ahead {
		difference[i] = v[i] - a
	}
}

// worthReference compares on some rows whether the column changes more than its difference to
// ahead. Columns with absent rows are not subtracted, because the difference would hide absent
// values.
func worthReference(v, ahead []int64, lag int) bool {
	const stride = 13 // a prime, so that patterns such as one ACK per two segments do not fool it
	if slices.Contains(v, tcp.Absent) || slices.Contains(ahead, tcp.Absent) {
		return false
	}
	own := 0
	difference := 0
	for i := lag + 1; i < len(v); i += stride {
		d := v[i] - v[i-1]
		own += bits.Len64(zigzag(d))
		difference += bits.Len64(zigzag(d - (ahead[i-lag] - ahead[i-lag-1])))
	}
	return difference < own
}

// sortByFlow finds the order of rows by flow that keeps the order within each flow: a radix sort by
// as many digits as the range of the flow IDs needs.
func (e *samplesEncoder) sortByFlow(flow []tcp.FlowID) {
	const digit = 11
	n := len(flow)
	order := slices.Grow(e.keep[:0], n)[:n]
	swap := slices.Grow(e.swap[:0], n)[:n]
	lowest := slices.Min(flow)
	width := bits.Len32(uint32(slices.Max(flow) - lowest))
	for i := range order {
		order[i] = uint16(i)
	}
	for shift := 0; shift < width; shift += digit {
		var start [1 << digit]uint16
		for _, f := range flow {
			start[uint32(f-lowest)>>shift&(1<<digit-1)]++
		}
		var sum uint16
		for i, count := range start {
			start[i] = sum
			sum += count
		}
		for _, row := range order {
			d := uint32(flow[row]-lowest) >> shift & (1<<digit - 1)
			swap[start[d]] = row
			start[d]++
		}
		order, swap = swap, order
	}
	e.keep = order
	e.order = order
	e.swap = swap
}
