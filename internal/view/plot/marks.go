package plot

import (
	"cmp"
	"slices"

	"airtide/internal/tcp"
)

// mark is a number of events of one class that happened in one span of time, and what part of the
// stream they touched.
type mark struct {
	t      int64 // of the first
	n      int
	lo, hi int64 // stream offsets in bytes, of segments and SACK blocks
}

// marks are the events of one class. Like a curve they are bounded: neighbours merge when the list
// is full, but the events are counted and none goes unmarked.
type marks struct {
	shift uint
	limit int
	list  []mark
}

// markClass says what the marks of a list stand for.
type markClass uint8

// Classes of marks. The first ones are the error codes of P4.
const (
	markCode       = markClass(0) // + tcp.ErrorCode
	markRetransmit = markClass(tcp.NumErrorCodes)
	markSack       = markRetransmit + markClass(tcp.CauseOther) + 1
	markDsack      = markSack + 1
	numMarkClasses = markDsack + 1
)

func (m *marks) add(t, lo, hi int64) {
	k := mark{t: t, n: 1, lo: lo, hi: hi}
	i := len(m.list)
	if i > 0 && t < m.list[i-1].t { // a late event
		i, _ = slices.BinarySearchFunc(m.list, t, func(o mark, t int64) int { return cmp.Compare(o.t, t) })
	}
	if m.shift > 0 && i > 0 && m.list[i-1].t>>m.shift == t>>m.shift {
		m.list[i-1] = m.list[i-1].and(k)
		return
	}
	m.list = slices.Insert(m.list, i, k)
	if len(m.list) > m.limit {
		m.shrink(m.limit)
	}
}

// and merges a later mark.
func (k mark) and(o mark) mark {
	return mark{t: k.t, n: k.n + o.n, lo: min(k.lo, o.lo), hi: max(k.hi, o.hi)}
}

func (m *marks) shrink(limit int) {
	m.limit = limit
	for len(m.list) > limit*3/4 {
		m.shift++
		kept := m.list[:1]
		for _, k := range m.list[1:] {
			if last := &kept[len(kept)-1]; last.t>>m.shift == k.t>>m.shift {
				*last = last.and(k)
			} else {
				kept = append(kept, k)
			}
		}
		m.list = kept
	}
}

// between are the marks from one time to another.
func (m *marks) between(from, to int64) []mark {
	at := func(t int64) int {
		i, _ := slices.BinarySearchFunc(m.list, t, func(o mark, t int64) int { return cmp.Compare(o.t, t) })
		return i
	}
	return m.list[at(from):at(to+1)]
}

// count is the number of events from one time to another.
func (m *marks) count(from, to int64) int {
	n := 0
	for _, k := range m.between(from, to) {
		n += k.n
	}
	return n
}
