package bpf

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// ring reads a BPF ring buffer in place. The library's reader copies each record, under a lock, and waits by epoll; that
// cost more than all the rest of user space's work on a sample (docs/performance.md), and we neither wait nor share.
//
// Layout (kernel/bpf/ringbuf.c): one page with the consumer's position, one with the producer's, then the data, mapped
// twice in a row so that no record is broken at the end. A record is a header of 8 bytes, whose first word is the length
// with two flags on top, and the data, padded to 8 bytes.
type ring struct {
	consumerPage []byte
	producerPage []byte // and the data behind it
	consumer     *uint64
	producer     *uint64
	data         []byte
	mask         uint64

	// Of the present look: where it is, where the record at hand ends, where it ends; and what has been given back.
	at, next, end, released uint64
}

const (
	ringHeader  = 8
	ringBusy    = 1 << 31 // BPF_RINGBUF_BUSY_BIT: reserved, not submitted yet
	ringDiscard = 1 << 30 // BPF_RINGBUF_DISCARD_BIT
	// ringRelease is after how many bytes the space is given back to the kernel: often enough for the producers, seldom
	// enough for the cache line that they read.
	ringRelease = 64 << 10
	// recordTimeOffset is where every record of record.h has its time.
	recordTimeOffset = 16
)

func openRing(m *ebpf.Map) (*ring, error) {
	size, page := int(m.MaxEntries()), os.Getpagesize()
	consumer, err := unix.Mmap(m.FD(), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the ring buffer's consumer page: %w", err)
	}
	producer, err := unix.Mmap(m.FD(), int64(page), page+2*size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		_ = unix.Munmap(consumer)
		return nil, fmt.Errorf("mapping the ring buffer's data: %w", err)
	}
	return &ring{
		consumerPage: consumer, producerPage: producer,
		consumer: (*uint64)(unsafe.Pointer(&consumer[0])), producer: (*uint64)(unsafe.Pointer(&producer[0])),
		data: producer[page:], mask: uint64(size - 1),
	}, nil
}

func (r *ring) close() error {
	err := unix.Munmap(r.consumerPage)
	if dataErr := unix.Munmap(r.producerPage); err == nil {
		err = dataErr
	}
	return err
}

// peek returns the next record of the present look and its time. It has none at the end and at a record that is still
// being written. The bytes are the kernel's: they are valid until release.
func (r *ring) peek() (record []byte, timeNs int64, ok bool) {
	for r.at < r.end {
		offset := r.at & r.mask
		head := atomic.LoadUint32((*uint32)(unsafe.Pointer(&r.data[offset])))
		if head&ringBusy != 0 {
			return nil, 0, false
		}
		length := uint64(head &^ (ringBusy | ringDiscard))
		r.next = r.at + (length+ringHeader+7)&^7
		if head&ringDiscard == 0 && length >= recordTimeOffset+8 {
			record = r.data[offset+ringHeader : offset+ringHeader+length]
			return record, *(*int64)(unsafe.Pointer(&record[recordTimeOffset])), true
		}
		r.at = r.next
	}
	return nil, 0, false
}

// advance goes on behind the record that peek returned, and gives space back now and then.
func (r *ring) advance() {
	r.at = r.next
	if r.at-r.released >= ringRelease {
		r.release()
	}
}

func (r *ring) release() {
	if r.at != r.released {
		atomic.StoreUint64(r.consumer, r.at)
		r.released = r.at
	}
}

// rings are the ring buffers of all processors. The records of a flow are spread over them, in order of time: the
// socket's lock makes one processor finish its record before another begins the next.
type rings struct {
	list  []*ring
	heads []head
	clock func() int64
}

// head is the next record of a ring.
type head struct {
	ring   *ring
	record []byte
	timeNs int64
}

// openRings makes a ring buffer for each entry of the outer map.
func openRings(outer *ebpf.Map, inner *ebpf.MapSpec) (*rings, error) {
	rs := &rings{clock: monotonicNs}
	for cpu := range outer.MaxEntries() {
		r, err := newRing(outer, inner, cpu)
		if err != nil {
			_ = rs.close()
			return nil, fmt.Errorf("making the ring buffer of processor %d: %w", cpu, err)
		}
		rs.list = append(rs.list, r)
	}
	return rs, nil
}

// newRing makes one and puts it into the outer map, which keeps it in the kernel.
func newRing(outer *ebpf.Map, inner *ebpf.MapSpec, cpu uint32) (*ring, error) {
	spec := inner.Copy()
	spec.Name = "ring"
	m, err := ebpf.NewMap(spec)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	r, err := openRing(m)
	if err != nil {
		return nil, err
	}
	if err := outer.Put(cpu, m); err != nil {
		_ = r.close()
		return nil, err
	}
	return r, nil
}

func (rs *rings) close() error {
	var errs []error
	for _, r := range rs.list {
		errs = append(errs, r.close())
	}
	return errors.Join(errs...)
}

// drain calls take with each record that was submitted before it is called, in the order of time, and returns the share
// of the fullest ring that had been filled. What comes meanwhile
// is left for the next time: a record with a later time could be seen before an earlier one of another processor. The
// bytes are valid during the call only.
func (rs *rings) drain(take func([]byte) error) (filled float64, err error) {
	horizon := rs.clock()
	rs.heads = rs.heads[:0]
	for _, r := range rs.list {
		r.end = atomic.LoadUint64(r.producer)
		filled = max(filled, float64(r.end-r.at)/float64(r.mask+1))
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
			if h.record, h.timeNs, there = h.ring.peek(); !there || h.timeNs >= horizon {
				there = false
				rs.heads[first] = rs.heads[len(rs.heads)-1]
				rs.heads = rs.heads[:len(rs.heads)-1]
			}
		}
	}
	return filled, nil
}

// earliest finds the ring with the earliest record, and until when it is the one: the earliest time of the others.
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
