package tcp

import "math/bits"

// maxDense is the length up to which the table of a ByFlow may grow. With pointers it then needs
// 8 MiB.
const maxDense = 1 << 20

// ByFlow holds a value for each flow. The numbers of flows are mostly dense, so most values lie in
// a table. Numbers may come from a file, so very large ones lie in a map. The zero value is empty.
type ByFlow[T comparable] struct {
	dense  []T
	sparse map[FlowID]T
}

// At returns the value of a flow, the zero value without one.
func (b *ByFlow[T]) At(id FlowID) (v T) {
	if int(id) < len(b.dense) {
		return b.dense[id]
	}
	if id < maxDense {
		return v
	}
	return b.sparse[id]
}

// Set sets the value of a flow. The zero value removes it.
func (b *ByFlow[T]) Set(id FlowID, v T) {
	var none T
	switch {
	case int(id) < len(b.dense):
		b.dense[id] = v
	case v == none:
		delete(b.sparse, id)
	case id < maxDense:
		b.dense = append(b.dense, make([]T, int(id)+1-len(b.dense))...)
		b.dense[id] = v
	default:
		if b.sparse == nil {
			b.sparse = map[FlowID]T{}
		}
		b.sparse[id] = v
	}
}

// FlowSet is a set of flows, of which 64 take a word. The zero value is empty.
type FlowSet struct {
	words ByFlow[uint64] // by number / bitsPerWord
	n     int
}

const bitsPerWord = 64

// Len is the number of flows in the set.
func (s *FlowSet) Len() int { return s.n }

// Has reports whether a flow is in the set.
func (s *FlowSet) Has(id FlowID) bool { return s.words.At(id/bitsPerWord)&(1<<(id%bitsPerWord)) != 0 }

// Add adds a flow.
func (s *FlowSet) Add(id FlowID) { s.set(id, s.words.At(id/bitsPerWord)|1<<(id%bitsPerWord)) }

// Remove removes a flow.
func (s *FlowSet) Remove(id FlowID) { s.set(id, s.words.At(id/bitsPerWord)&^(1<<(id%bitsPerWord))) }

// set replaces the word of a flow.
func (s *FlowSet) set(id FlowID, word uint64) {
	at := id / bitsPerWord
	s.n += bits.OnesCount64(word) - bits.OnesCount64(s.words.At(at))
	s.words.Set(at, word)
}
