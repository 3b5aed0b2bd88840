package bpf

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"airtide/internal/tcp"
)

// flow holds user space's state of an open flow.
type flow struct {
	flow    tcp.Flow
	private *privateDecoder
	// undecided: its owner is not known, and the filter asks for one.
	undecided bool
	at        position // only with WithDrops
	// held are the records of an undecided flow.
	held [][]byte
}

// flowTable holds the open flows by the kernel's id. Each record looks up its flow here, so this is
// an open-addressing hash table: a look-up costs as much as one in a slice, and a third of one in a
// map.
type flowTable struct {
	slots []flowSlot // a power of two, at most half full
	used  int
	last  tcp.FlowID
	// wanted are the flows without an owner, by the kernel's id.
	wanted map[uint64]*flow
	// heldBytes is the memory of all held records.
	heldBytes int
}

// flowSlot is empty where the id is 0.
type flowSlot struct {
	id   uint64
	flow *flow
}

// minFlowSlots is the size of an empty table.
const minFlowSlots = 64

// maxHeldBytes bounds the memory of held records. A flow that finds no room loses its records from
// before its owner was known.
const maxHeldBytes = 64 << 20

func newFlowTable() *flowTable {
	return &flowTable{slots: make([]flowSlot, minFlowSlots), wanted: map[uint64]*flow{}}
}

// slot returns the slot of an id: the one that has it, or the empty one where it belongs.
func (t *flowTable) slot(id uint64) *flowSlot {
	mask := uint64(len(t.slots) - 1)
	for i := t.home(id); ; i++ {
		if s := &t.slots[i&mask]; s.id == id || s.id == 0 {
			return s
		}
	}
}

// home is the slot in which the search for an id begins. The multiplier spreads ids that differ in
// a few bits (Knuth's multiplicative hashing).
func (t *flowTable) home(id uint64) uint64 {
	const golden = 0x9e3779b97f4a7c15
	return id * golden >> (64 - bits.TrailingZeros(uint(len(t.slots))))
}

func (t *flowTable) find(id uint64) *flow { return t.slot(id).flow }

// learn makes or updates a flow. It gets its number when it passes the filter.
func (t *flowTable) learn(id uint64, f tcp.Flow, undecided bool) *flow {
	known := t.find(id)
	if known == nil {
		known = &flow{undecided: true}
		t.add(id, known)
	}
	if f.PID == 0 {
		// The kernel does not know yet the owner that user space has found.
		f.PID = known.flow.PID
		f.Comm = known.flow.Comm
	}
	f.ID = known.flow.ID
	known.flow = f
	if !undecided {
		t.accept(known)
	}
	return known
}

// accept numbers a flow that passes the filter.
func (t *flowTable) accept(f *flow) {
	if f.undecided {
		f.undecided = false
		t.last++
		f.flow.ID = t.last
	}
}

// undecided returns the flows whose owner no hook has seen.
func (t *flowTable) undecided() (all []*flow) {
	for _, s := range t.slots {
		if s.id != 0 && s.flow.undecided {
			all = append(all, s.flow)
		}
	}
	return all
}

func (t *flowTable) add(id uint64, f *flow) {
	if 2*(t.used+1) > len(t.slots) {
		t.resize(2 * len(t.slots))
	}
	*t.slot(id) = flowSlot{id, f}
	t.used++
}

func (t *flowTable) resize(size int) {
	old := t.slots
	t.slots = make([]flowSlot, size)
	for _, s := range old {
		if s.id != 0 {
			*t.slot(s.id) = s
		}
	}
}

// close forgets a flow: the kernel has deleted it too, so nothing more comes.
func (t *flowTable) close(id uint64) {
	delete(t.wanted, id)
	s := t.slot(id)
	if s.id == 0 {
		return
	}
	t.takeHeld(s.flow)
	t.empty(s)
	t.used--
	if len(t.slots) > minFlowSlots && 8*t.used < len(t.slots) {
		t.resize(len(t.slots) / 2)
	}
}

// empty empties a slot and moves later ones up whose search would end there.
func (t *flowTable) empty(s *flowSlot) {
	mask := uint64(len(t.slots) - 1)
	hole := t.home(s.id)
	for &t.slots[hole&mask] != s {
		hole++
	}
	for i := hole + 1; ; i++ {
		next := &t.slots[i&mask]
		if next.id == 0 {
			break
		}
		if (i-t.home(next.id))&mask >= (i-hole)&mask {
			t.slots[hole&mask] = *next
			hole = i
		}
	}
	t.slots[hole&mask] = flowSlot{}
}

// hold keeps a record of an undecided flow while there is room.
func (t *flowTable) hold(f *flow, raw []byte) {
	if t.heldBytes+len(raw) > maxHeldBytes {
		return
	}
	f.held = append(f.held, slices.Clone(raw))
	t.heldBytes += len(raw)
}

// takeHeld returns the held records of a flow, which the table then forgets.
func (t *flowTable) takeHeld(f *flow) [][]byte {
	held := f.held
	f.held = nil
	for _, raw := range held {
		t.heldBytes -= len(raw)
	}
	return held
}

// kernelFlow is the flow id of a sample or event record.
func kernelFlow(raw []byte) uint64 {
	if raw[0] == uint8(monitorMonRecordKindRECORD_EVENT) {
		return binary.NativeEndian.Uint64(raw[eventFlowOffset:])
	}
	return binary.NativeEndian.Uint64(raw[sampleFlowOffset:])
}
