package bpf

import (
	"errors"
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/clock"
)

const (
	ringLevels  = int(monitorMonRingLimitsRING_LEVELS)
	controlSize = int(unsafe.Sizeof(monitorRingControl{}))
	// nestedShare divides the size of the rings of the nested levels, which are seldom used.
	nestedShare = 8
	// cacheLine divides the size of a slot.
	cacheLine = 64
	// ringRelease is the number of records after which their room is given back to the programs.
	// Each release invalidates the cache line that the programs read, so it is not one.
	ringRelease = 128
	// recordTimeOffset is the offset of the time in every record of record.h.
	recordTimeOffset = 16
)

// ringSizes are the sizes of the rings, by which the maps of ring.h are made.
type ringSizes struct {
	cpus     int
	slots    int // slots in a processor's ring of level 0
	nested   int // slots in a ring of each further level
	slotSize int // bytes
}

// sizesFor gives each processor a ring of at least so many bytes. privateBytes of a congestion
// control's private state are recorded.
func sizesFor(cpus, bytes, privateBytes int) ringSizes {
	var s monitorSampleRecord
	slot := max(int(unsafe.Offsetof(s.Cc))+privateBytes, eventSize, flowSize, dropSize)
	slot = (slot + cacheLine - 1) / cacheLine * cacheLine
	slots := max(powerOfTwo(bytes/slot), nestedShare)
	return ringSizes{cpus: cpus, slots: slots, nested: slots / nestedShare, slotSize: slot}
}

// powerOfTwo rounds up.
func powerOfTwo(n int) int { return 1 << bits.Len(uint(max(n, 1)-1)) }

func (s ringSizes) slotsOfCPU() int { return s.slots + (ringLevels-1)*s.nested }

// configure sizes the maps and tells the programs.
func (s ringSizes) configure(spec *ebpf.CollectionSpec) map[string]any {
	spec.Maps["ring_controls"].MaxEntries = uint32(s.cpus * ringLevels)
	spec.Maps["slots"].MaxEntries = uint32(s.cpus * s.slotsOfCPU())
	spec.Maps["slots"].ValueSize = uint32(s.slotSize)
	// The type in the BTF is that of the longest slot.
	spec.Maps["slots"].Value = nil
	spec.Maps["slots"].Key = nil
	return map[string]any{"ring_slots": uint32(s.slots), "nested_ring_slots": uint32(s.nested)}
}

// ring is one of bpf/monitor/ring.h: a sequence of records in slots of one size, written by the
// programs on one processor.
type ring struct {
	control  *monitorRingControl
	slots    []byte
	slotSize int
	mask     uint64

	// Place and end of the present look, and the released part. They count records, as the control
	// does.
	at, end, released uint64
}

// peek returns the next record of the present look and its time.
func (r *ring) peek() (record []byte, timeNs int64, ok bool) {
	if r.at == r.end {
		return nil, 0, false
	}
	offset := int(r.at&r.mask) * r.slotSize
	record = r.slots[offset : offset+r.slotSize]
	return record, *(*int64)(unsafe.Pointer(&record[recordTimeOffset])), true
}

// advance goes on behind the record that peek returned, and gives room back now and then.
func (r *ring) advance() {
	r.at++
	if r.at-r.released >= ringRelease {
		r.release()
	}
}

func (r *ring) release() {
	if r.at != r.released {
		atomic.StoreUint64(&r.control.Consumed, r.at)
		r.released = r.at
	}
}

// rings are the rings of all processors and levels. The records of a flow are spread over them, in
// order of time: the socket's lock makes one processor finish its record before another begins the
// next.
type rings struct {
	list     []*ring
	heads    []head
	clock    func() int64
	mappings [][]byte
}

// head is the next record of a ring.
type head struct {
	ring   *ring
	record []byte
	timeNs int64
}

// openRings maps the rings.
func openRings(coll *ebpf.Collection, s ringSizes) (_ *rings, err error) {
	rs := &rings{clock: clock.Now}
	defer func() {
		if err != nil {
			_ = rs.close()
		}
	}()
	controls, err := rs.mapArray(coll.Maps["ring_controls"], controlSize)
	if err != nil {
		return nil, fmt.Errorf("mapping the rings' positions: %w", err)
	}
	slots, err := rs.mapArray(coll.Maps["slots"], s.slotSize)
	if err != nil {
		return nil, fmt.Errorf("mapping the rings: %w", err)
	}
	for cpu := range s.cpus {
		for level := range ringLevels {
			n := s.slots
			if level > 0 {
				n = s.nested
			}
			r := &ring{slots: slots[:n*s.slotSize], slotSize: s.slotSize, mask: uint64(n - 1)}
			r.control = (*monitorRingControl)(unsafe.Pointer(&controls[(cpu*ringLevels+level)*controlSize]))
			slots = slots[n*s.slotSize:]
			rs.list = append(rs.list, r)
		}
	}
	return rs, nil
}

// mapArray maps the values of an array, which lie one behind the other.
func (rs *rings) mapArray(m *ebpf.Map, valueSize int) ([]byte, error) {
	page := os.Getpagesize()
	size := (int(m.MaxEntries())*valueSize + page - 1) / page * page
	b, err := unix.Mmap(m.FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err == nil {
		rs.mappings = append(rs.mappings, b)
	}
	return b, err
}

func (rs *rings) close() error {
	var errs []error
	for _, m := range rs.mappings {
		errs = append(errs, unix.Munmap(m))
	}
	rs.mappings = nil
	return errors.Join(errs...)
}

// drain calls take with each record that was submitted before it is called, in the order of time,
// and returns the share of the fullest ring that had been filled. What comes meanwhile is left for
// the next time: a record with a later time could be seen before an earlier one of another
// processor. The bytes are valid during the call only and may be longer than the record.
func (rs *rings) drain(take func([]byte) error) (filled float64, err error) {
	horizon := rs.clock()
	rs.heads = rs.heads[:0]
	for _, r := range rs.list {
		r.end = atomic.LoadUint64(&r.control.Produced)
		filled = max(filled, float64(r.end-r.at)/float64(r.mask+1))
	}
	if runtime.GOARCH != "amd64" {
		// The programs have no memory barrier that every supported kernel offers. What was written
		// before the counts that were just read is long visible after this.
		time.Sleep(time.Millisecond)
	}
	defer func() {
		for _, r := range rs.list {
			r.release()
		}
	}()
	for _, r := range rs.list {
		if record, timeNs, ok := r.peek(); ok && timeNs < horizon {
			rs.heads = append(rs.heads, head{r, record, timeNs})
		}
	}
	for len(rs.heads) > 0 {
		first, limit := rs.earliest(horizon)
		h := &rs.heads[first]
		// One ring goes on until another has something earlier.
		for there := true; there && h.timeNs <= limit; {
			if err := take(h.record); err != nil {
				return filled, err
			}
			h.ring.advance()
			h.record, h.timeNs, there = h.ring.peek()
			if !there || h.timeNs >= horizon {
				there = false
				rs.heads[first] = rs.heads[len(rs.heads)-1]
				rs.heads = rs.heads[:len(rs.heads)-1]
			}
		}
	}
	return filled, nil
}

// earliest finds the ring with the earliest record, and until when it is the one: the earliest time
// of the others.
func (rs *rings) earliest(horizon int64) (first int, limit int64) {
	limit = horizon
	for i := 1; i < len(rs.heads); i++ {
		switch t := rs.heads[i].timeNs; {
		case t < rs.heads[first].timeNs:
			limit = rs.heads[first].timeNs
			first = i
		case t < limit:
			limit = t
		}
	}
	return first, limit
}
