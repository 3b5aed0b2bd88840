package bpf

import (
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
}

const (
	ringHeader  = 8
	ringBusy    = 1 << 31 // BPF_RINGBUF_BUSY_BIT: reserved, not submitted yet
	ringDiscard = 1 << 30 // BPF_RINGBUF_DISCARD_BIT
	// ringRelease is after how many bytes the space is given back to the kernel: often enough for the producers, seldom
	// enough for the cache line that they read.
	ringRelease = 64 << 10
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

// drain calls take with each record that has been submitted when it is called, in order, and stops at the first that is
// still being written. The bytes are the kernel's: they are valid during the call only.
func (r *ring) drain(take func([]byte) error) error {
	at := atomic.LoadUint64(r.consumer)
	end := atomic.LoadUint64(r.producer)
	released := at
	defer func() { atomic.StoreUint64(r.consumer, at) }()
	for at < end {
		offset := at & r.mask
		head := atomic.LoadUint32((*uint32)(unsafe.Pointer(&r.data[offset])))
		if head&ringBusy != 0 {
			return nil
		}
		length := uint64(head &^ (ringBusy | ringDiscard))
		record := r.data[offset+ringHeader : offset+ringHeader+length]
		at += (length + ringHeader + 7) &^ 7
		if head&ringDiscard != 0 {
			continue
		}
		if err := take(record); err != nil {
			return err
		}
		if at-released >= ringRelease {
			atomic.StoreUint64(r.consumer, at)
			released = at
		}
	}
	return nil
}
