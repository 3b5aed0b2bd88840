package summary

import (
	"iter"
	"slices"

	"airtide/internal/diagnose"
)

// List is a list of flows that are made when they are asked for. A flow takes a kilobyte and more,
// so those of a busy server do not fit into memory together.
type List struct {
	Len int
	at  func(i int) *Flow
}

// List returns all flows, with the limits that a diagnosis of the same data found, which may
// be nil. A nil order is that of the first record.
func (s *Summary) List(o *Order, d *diagnose.Report) List {
	found := byFlow(d)
	scratch := newMeasures()
	l := List{len(s.order), func(i int) *Flow {
		line := s.line(s.order[i], s.order[i].results(scratch))
		line.explain(found[line.ID])
		return &line
	}}
	if o == nil {
		return l
	}
	values := make([]sortValue, l.Len)
	order := make([]int32, l.Len)
	for i := range order {
		values[i] = o.value(l.at(i))
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(i, j int32) int { return o.compare(values[i], values[j]) })
	return List{l.Len, func(i int) *Flow { return l.at(int(order[i])) }}
}

// Each are the flows in their order.
func (l List) Each() iter.Seq[*Flow] {
	return func(yield func(*Flow) bool) {
		for i := range l.Len {
			if !yield(l.at(i)) {
				return
			}
		}
	}
}
