package plot

import (
	"cmp"
	"slices"

	"airtide/internal/tcp"
)

// mark is the events of one class in one span of time, and their part of the stream.
type mark struct {
	t      int64 // time of the first event
	n      int   // events, or packets of retransmissions
	lo, hi int64 // stream offsets in bytes, of segments and SACK blocks
}

// marks are the events of one class. Like a curve they are bounded: neighbours merge when the list
// is full. All events are counted.
type marks struct {
	shift uint
	limit int
	list  []mark
}

// markClass is the kind of events of a list of marks.
type markClass uint8

// Classes of marks. The first are the error codes of Matsuno et al. 2021.
const (
	markCode       = markClass(0) // + tcp.ErrorCode
	markRetransmit = markClass(tcp.NumErrorCodes)
	markSack       = markRetransmit + markClass(tcp.CauseOther) + 1
	markDsack      = markSack + 1
	numMarkClasses = markDsack + 1
)

func (m *marks) add(k mark) {
	t := k.t
	i := len(m.list)
	if i > 0 && t < m.list[i-1].t { // a late event
		i, _ = slices.BinarySearchFunc(m.list, t, func(o mark, t int64) int { return cmp.Compare(o.t, t) })
	}
	if m.shift > 0 && i > 0 && m.list[i-1].t>>m.shift == t>>m.shift {
		m.list[i-1] = m.list[i-1].joined(k)
		return
	}
	m.list = slices.Insert(m.list, i, k)
	if len(m.list) > m.limit {
		m.shrink(m.limit)
	}
}

func (k mark) start() int64 { return k.t }

// joined merges the next mark.
func (k mark) joined(next mark) mark {
	return mark{t: k.t, n: k.n + next.n, lo: min(k.lo, next.lo), hi: max(k.hi, next.hi)}
}

func (m *marks) shrink(limit int) {
	m.limit = limit
	m.list, m.shift = thinned(m.list, m.shift, limit)
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
