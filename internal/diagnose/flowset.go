package diagnose

import (
	"math/bits"

	"airtide/internal/tcp"
)

// flowSet is a set of flows. Their numbers are mostly dense, so that 64 of them take a word.
type flowSet struct {
	words map[tcp.FlowID]uint64
	n     int
}

const bitsPerWord = 64

func (s *flowSet) add(id tcp.FlowID) { s.set(id, s.words[id/bitsPerWord]|1<<(id%bitsPerWord)) }

func (s *flowSet) remove(id tcp.FlowID) { s.set(id, s.words[id/bitsPerWord]&^(1<<(id%bitsPerWord))) }

func (s *flowSet) has(id tcp.FlowID) bool { return s.words[id/bitsPerWord]&(1<<(id%bitsPerWord)) != 0 }

// set replaces the word of a flow.
func (s *flowSet) set(id tcp.FlowID, word uint64) {
	at := id / bitsPerWord
	s.n += bits.OnesCount64(word) - bits.OnesCount64(s.words[at])
	if word == 0 {
		delete(s.words, at)
		return
	}
	s.words[at] = word
}
