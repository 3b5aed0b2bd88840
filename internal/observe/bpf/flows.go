package bpf

import (
	"encoding/binary"

	"airtide/internal/tcp"
)

// flow is what user space keeps of a flow while it is open.
type flow struct {
	flow      tcp.Flow
	private   *privateDecoder
	undecided bool
}

// flowTable finds flows by the kernel's id, which is a sequence number << 12 | processor, so that a
// slice a processor serves for a map.
type flowTable struct {
	byCPU  [][]*flow
	last   tcp.FlowID
	wanted map[uint64]*flow // flows without an owner, by the kernel's id
}

const cpuBits = 12

func newFlowTable() *flowTable { return &flowTable{wanted: map[uint64]*flow{}} }

func (t *flowTable) find(id uint64) *flow {
	cpu, seq := id&(1<<cpuBits-1), id>>cpuBits
	if cpu >= uint64(len(t.byCPU)) || seq >= uint64(len(t.byCPU[cpu])) {
		return nil
	}
	return t.byCPU[cpu][seq]
}

// learn makes or updates a flow. It gets its number when it passes the filter.
func (t *flowTable) learn(id uint64, f tcp.Flow, undecided bool) *flow {
	known := t.find(id)
	if known == nil {
		known = &flow{undecided: true}
		cpu, seq := id&(1<<cpuBits-1), id>>cpuBits
		for uint64(len(t.byCPU)) <= cpu {
			t.byCPU = append(t.byCPU, nil)
		}
		for uint64(len(t.byCPU[cpu])) <= seq {
			t.byCPU[cpu] = append(t.byCPU[cpu], nil)
		}
		t.byCPU[cpu][seq] = known
	}
	number := known.flow.ID
	if known.undecided && !undecided {
		t.last++
		number = t.last
	}
	if f.PID == 0 {
		// The kernel has not heard yet of the owner that we have found.
		f.PID = known.flow.PID
		f.Comm = known.flow.Comm
	}
	known.flow = f
	known.undecided = undecided
	known.flow.ID = number
	return known
}

// close forgets a flow: the kernel has deleted it too, so nothing more comes.
func (t *flowTable) close(id uint64) {
	if cpu, seq := id&(1<<cpuBits-1), id>>cpuBits; t.find(id) != nil {
		t.byCPU[cpu][seq] = nil
	}
	delete(t.wanted, id)
}

// kernelFlow is the flow id of a sample or event record.
func kernelFlow(raw []byte) uint64 {
	if raw[0] == uint8(monitorRecordKindRECORD_EVENT) {
		return binary.NativeEndian.Uint64(raw[eventFlowOffset:])
	}
	return binary.NativeEndian.Uint64(raw[sampleFlowOffset:])
}
