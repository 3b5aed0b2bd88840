package trace

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unsafe"

	"airtide/tcp"
)

// A column of a samples block is coded as residuals: the difference of each row to the row before, as zigzag numbers,
// packed in groups of rows with as many bits as the group's longest residual needs. A constant column has no groups;
// one whose rows are all tcp.Absent is not in the block at all. docs/trace-format.md specifies the bytes.
const (
	// flagPacked: the column is not constant.
	flagPacked = 1 << 0
	// flagPresence: some rows are absent. Their run lengths are listed, and they repeat the value before them.
	flagPresence = 1 << 1
	// flagReference: the column is coded as its difference to another column.
	flagReference = 1 << 2
	// flagInline: the groups stand in the block's head, not in its body.
	flagInline = 1 << 3

	knownFlags = flagPacked | flagPresence | flagReference | flagInline

	groupRows = 32

	// inlineRows is the number of rows below which groups stay with the head: compressing them on their own gains less
	// than it costs there.
	inlineRows = 256
)

// zigzag maps small negative and positive numbers to small unsigned ones. Differences wrap modulo 2^64 on both sides,
// so every int64 survives.
func zigzag(d int64) uint64 { return uint64(d<<1) ^ uint64(d>>63) }

func unzigzag(z uint64) int64 { return int64(z>>1) ^ -int64(z&1) }

// columnEncoder codes the columns of one block at a time. It keeps its memory from block to block.
type columnEncoder struct {
	head []byte // of each column its description, and the groups of a short one
	body []byte // the groups of each long column, each compressed on its own

	packed   []byte  // groups of the column at hand
	presence []byte  // of the column at hand
	filled   []int64 // the column at hand with its absent rows filled
}

// reference is another column, already coded, that a column follows closely: v[i] is about from[i-lag].
type reference struct {
	id, lag int
}

// allEqual says whether every value is the same. Comparing the column with itself shifted by one row is the fastest way
// in Go: the comparison of byte strings is vectorised.
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

// varying adds a column whose values are not known to be all the same. When order is not nil, row i is v[order[i]].
func (e *columnEncoder) varying(id int, v []int64, order []uint16, ref reference) {
	first := v[0]
	if order != nil {
		first = v[order[0]]
	}
	if !e.pack(first, v, order) {
		e.fillAbsent(v, order)
		first = e.filled[0]
		e.pack(first, e.filled, nil)
	}
	flags, bodyStart := byte(flagPacked), len(e.body)
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

// fillAbsent copies the column, with the value before it in the place of an absent one, and makes the presence list:
// the lengths of the runs of present, absent, present rows and so on.
func (e *columnEncoder) fillAbsent(v []int64, order []uint16) {
	if order == nil {
		e.filled = append(e.filled[:0], v...)
	} else {
		e.filled = gather(e.filled, v, order)
	}
	v = e.filled
	last := v[max(0, slices.IndexFunc(v, func(x int64) bool { return x != tcp.Absent }))]
	present, start := true, 0
	for i, x := range v {
		if (x != tcp.Absent) != present {
			e.presence = binary.AppendUvarint(e.presence, uint64(i-start))
			start, present = i, !present
		}
		if present {
			last = x
		} else {
			v[i] = last
		}
	}
	e.presence = binary.AppendUvarint(e.presence, uint64(len(v)-start))
}

func gather(to, from []int64, order []uint16) []int64 {
	to = slices.Grow(to[:0], len(order))[:len(order)]
	for i, row := range order {
		to[i] = from[row]
	}
	return to
}

// pack packs the column into groups. It reports false when there are absent rows that are to be filled first.
func (e *columnEncoder) pack(first int64, v []int64, order []uint16) bool {
	e.packed = slices.Grow(e.packed[:0], maxGroups(len(v)))
	out, at := e.packed[:cap(e.packed)], 0
	last, steady := first, true
	var residuals [groupRows]uint64
	for start := 0; start < len(v); start += groupRows {
		end := min(start+groupRows, len(v))
		// A group after one without a change probably has none either, and to see that is cheaper than to code it.
		if steady && unchanged(v, order, start, end, last) {
			out[at] = 0
			at++
			continue
		}
		var seen uint64 // all residuals or-ed together
		before := last
		if order == nil {
			for i, x := range v[start:end] {
				r := zigzag(x - last)
				seen |= r
				residuals[i&(groupRows-1)] = r
				last = x
			}
		} else {
			for i, row := range order[start:end] {
				x := v[row]
				r := zigzag(x - last)
				seen |= r
				residuals[i&(groupRows-1)] = r
				last = x
			}
		}
		steady = seen == 0
		// A step to or from tcp.Absent is huge, so that only groups with huge steps are searched for it. Should such a
		// step be small for all that, then it is coded like any other, which is longer and not wrong.
		if seen>>61 != 0 && len(e.presence) == 0 && hasAbsent(before, residuals[:end-start]) {
			return false
		}
		at = packGroup(out, at, &residuals, end-start, seen)
	}
	e.packed = out[:at]
	return true
}

// unchanged says whether the rows from start to end all have the value.
func unchanged(v []int64, order []uint16, start, end int, value int64) bool {
	if order == nil {
		group := v[start:end]
		return group[0] == value && bytes.Equal(rawBytes(group[1:]), rawBytes(group[:len(group)-1]))
	}
	var difference int64
	for _, row := range order[start:end] {
		difference |= v[row] ^ value
	}
	return difference == 0
}

// hasAbsent says whether the value, or one that the residuals lead to from there, is absent.
func hasAbsent(value int64, residuals []uint64) bool {
	for _, r := range residuals {
		if value == tcp.Absent {
			return true
		}
		value += unzigzag(r)
	}
	return value == tcp.Absent
}
