package trace

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unsafe"

	"airtide/internal/tcp"
)

// A column of a samples block is coded as residuals: the difference of each row to the row before,
// as zigzag numbers, packed in groups of rows with as many bits as the group's longest residual
// needs. A constant column has no groups; one whose rows are all tcp.Absent is not in the block at
// all. docs/reference/recording.md specifies the bytes.
const (
	// flagPacked: the column is not constant.
	flagPacked = 1 << 0
	// flagPresence: some rows are absent. Their run lengths are listed, and they repeat the value
	// before them.
	flagPresence = 1 << 1
	// flagReference: the column is coded as its difference to another column.
	flagReference = 1 << 2
	// flagInline: the groups stand in the block's head, not in its body.
	flagInline = 1 << 3

	knownFlags = flagPacked | flagPresence | flagReference | flagInline

	groupRows = 32

	// inlineRows is the number of rows below which groups stay in the head. Compressing so few
	// groups separately costs more than it saves.
	inlineRows = 256
)

// zigzag maps small negative and positive numbers to small unsigned ones. Differences wrap modulo
// 2^64 on both sides, so every int64 survives.
func zigzag(d int64) uint64 { return uint64(d<<1) ^ uint64(d>>63) }

func unzigzag(z uint64) int64 { return int64(z>>1) ^ -int64(z&1) }

// columnEncoder codes the columns of one block at a time. It keeps its memory from block to block.
type columnEncoder struct {
	head []byte // each column's description, and the groups of short columns
	body []byte // the groups of each long column, each compressed on its own

	packed   []byte // groups of the column at hand
	presence []byte // presence runs of the column at hand
}

// reference is another column, already coded, that a column follows closely: v[i] is about
// from[i-lag].
type reference struct {
	id, lag int
}

// allEqual reports whether all values are equal. It compares the column with itself shifted by one
// row, because Go vectorises the comparison of byte strings.
func allEqual[T int64 | tcp.FlowID](v []T) bool {
	return v[0] == v[len(v)-1] && bytes.Equal(rawBytes(v[1:]), rawBytes(v[:len(v)-1]))
}

func rawBytes[T int64 | tcp.FlowID](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(T(0))))
}

// constant adds a column of one value.
func (e *columnEncoder) constant(id int, value int64) {
	if value != tcp.Absent {
		e.describe(id, 0, value, reference{}, 0)
	}
}

// varying adds a column whose values may differ. If order is not nil, row i is v[order[i]].
func (e *columnEncoder) varying(id int, v []int64, order []uint16, ref reference) {
	first := e.pack(v, order)
	flags := byte(flagPacked)
	bodyStart := len(e.body)
	if len(v) < inlineRows {
		flags |= flagInline
	} else {
		e.body = compress(e.body, e.packed)
	}
	e.describe(id, flags, first, ref, len(e.body)-bodyStart)
	e.presence = e.presence[:0]
}

// describe adds the column's description to the head, and its groups if they are to stand there.
func (e *columnEncoder) describe(id int, flags byte, first int64, ref reference, bodyLen int) {
	if len(e.presence) > 0 {
		flags |= flagPresence
	}
	if ref.id != 0 {
		flags |= flagReference
	}
	h := binary.AppendUvarint(e.head, uint64(id))
	h = append(h, flags)
	h = binary.AppendUvarint(h, zigzag(first))
	if flags&flagReference != 0 {
		h = binary.AppendUvarint(h, uint64(ref.id))
		h = append(h, byte(ref.lag))
	}
	if flags&flagPresence != 0 {
		h = binary.AppendUvarint(h, uint64(len(e.presence)))
		h = append(h, e.presence...)
	}
	if flags&flagInline != 0 {
		h = binary.AppendUvarint(h, uint64(len(e.packed)))
		h = append(h, e.packed...)
	} else if flags&flagPacked != 0 {
		h = binary.AppendUvarint(h, uint64(bodyLen))
	}
	e.head = h
}

func gather(to, from []int64, order []uint16) []int64 {
	to = slices.Grow(to[:0], len(order))[:len(order)]
	for i, row := range order {
		to[i] = unchecked(from, row)
	}
	return to
}

// pack packs the column into groups, and makes the presence list if some rows are absent. It
// returns the value that the first residual is against.
func (e *columnEncoder) pack(v []int64, order []uint16) (first int64) {
	e.packed = slices.Grow(e.packed[:0], maxGroups(len(v)))
	out := e.packed[:cap(e.packed)]
	at := 0
	first = v[0]
	if order != nil {
		first = v[order[0]]
	}
	var presence presenceList
	if first == tcp.Absent {
		first = 0
		presence.mixed = true
	}
	last := first
	steady := true
	var residuals [groupRows]uint64
	for start := 0; start < len(v); start += groupRows {
		end := min(start+groupRows, len(v))
		expected := last
		if presence.absent {
			expected = tcp.Absent
		}
		// A group after an unchanged group is probably unchanged too. Checking that is cheaper than
		// coding the group.
		if steady && unchanged(v, order, start, end, expected) {
			out[at] = 0
			at++
			continue
		}
		var seen uint64
		before := last
		mixed := presence.absent
		if !mixed {
			seen, last = differences(&residuals, v, order, start, end, before)
			// A step to tcp.Absent is huge, so only groups with huge steps are searched for it. A
			// small step to tcp.Absent is coded like any other step, which takes more bytes but is
			// correct.
			mixed = seen>>61 != 0 && hasAbsent(before, residuals[:end-start])
		}
		if mixed {
			presence.mixed = true
			seen, last = e.presentDifferences(&residuals, v, order, start, end, before, &presence)
		}
		steady = seen == 0
		at = packGroup(out, at, &residuals, end-start, seen)
	}
	if presence.mixed {
		e.presence = binary.AppendUvarint(e.presence, uint64(len(v)-presence.start))
	}
	e.packed = out[:at]
	return first
}

// unchanged reports whether all rows from start to end have the given value.
func unchanged(v []int64, order []uint16, start, end int, value int64) bool {
	if order == nil {
		group := v[start:end]
		return group[0] == value && bytes.Equal(rawBytes(group[1:]), rawBytes(group[:len(group)-1]))
	}
	order = order[start:end]
	var difference int64
	for len(order) >= 8 {
		o := (*[8]uint16)(order)
		difference |= (unchecked(v, o[0]) ^ value) | (unchecked(v, o[1]) ^ value) |
			(unchecked(v, o[2]) ^ value) | (unchecked(v, o[3]) ^ value) |
			(unchecked(v, o[4]) ^ value) | (unchecked(v, o[5]) ^ value) |
			(unchecked(v, o[6]) ^ value) | (unchecked(v, o[7]) ^ value)
		order = order[8:]
	}
	for _, row := range order {
		difference |= v[row] ^ value
	}
	return difference == 0
}

// unchecked returns v[row] without a bounds check. The rows in an order are the column's rows, each
// once, so they are always in bounds.
func unchecked(v []int64, row uint16) int64 {
	return *(*int64)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(v)), uintptr(row)*8))
}

// differences writes the residuals of the rows from start to end. It returns all of them or-ed
// together, and the last value.
func differences(
	residuals *[groupRows]uint64, v []int64, order []uint16, start, end int, last int64,
) (seen uint64, now int64) {
	if order == nil {
		for i, x := range v[start:end] {
			r := zigzag(x - last)
			seen |= r
			residuals[i&(groupRows-1)] = r
			last = x
		}
		return seen, last
	}
	if end-start == groupRows {
		o := (*[groupRows]uint16)(order[start:])
		for i := 0; i < groupRows; i += 4 {
			a := unchecked(v, o[i])
			b := unchecked(v, o[i+1])
			c := unchecked(v, o[i+2])
			d := unchecked(v, o[i+3])
			p := zigzag(a - last)
			q := zigzag(b - a)
			r := zigzag(c - b)
			s := zigzag(d - c)
			residuals[i] = p
			residuals[i+1] = q
			residuals[i+2] = r
			residuals[i+3] = s
			seen |= p | q | r | s
			last = d
		}
		return seen, last
	}
	for i, row := range order[start:end] {
		x := v[row]
		r := zigzag(x - last)
		seen |= r
		residuals[i&(groupRows-1)] = r
		last = x
	}
	return seen, last
}

// presenceList is the state of a column's presence list: the lengths of the runs of present,
// absent, present rows and so on.
type presenceList struct {
	mixed  bool // the column has absent rows
	absent bool // the last row was
	start  int  // first row of the last run
}

// presentDifferences is differences for a column with absent rows, which repeat the value before
// them.
func (e *columnEncoder) presentDifferences(
	residuals *[groupRows]uint64, v []int64, order []uint16, start, end int, last int64, p *presenceList,
) (seen uint64, now int64) {
	for i := start; i < end; i++ {
		row := i
		if order != nil {
			row = int(order[i])
		}
		x := v[row]
		if absent := x == tcp.Absent; absent != p.absent {
			e.presence = binary.AppendUvarint(e.presence, uint64(i-p.start))
			p.absent = absent
			p.start = i
		}
		if p.absent {
			x = last
		}
		r := zigzag(x - last)
		seen |= r
		residuals[i-start] = r
		last = x
	}
	return seen, last
}

// hasAbsent reports whether value, or any value reached from it by the residuals, is absent.
func hasAbsent(value int64, residuals []uint64) bool {
	for _, r := range residuals {
		if value == tcp.Absent {
			return true
		}
		value += unzigzag(r)
	}
	return value == tcp.Absent
}
