package testnet

import (
	"container/heap"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/ringbuf"
	"golang.org/x/sys/unix"
)

// holder takes the frames that the program at the receiver holds back and sends them again from the
// sender's device when their time has come. No queueing discipline that delays is needed for it.
type holder struct {
	reader *ringbuf.Reader
	fd     int
	queue  frameQueue
	done   chan struct{}
	passed atomic.Uint64 // frames that have left the queue
}

// heldFrom is the source address of frames that are sent on; testnet_path.bpf.c lets them pass
// untouched.
var heldFrom = [6]byte{0x02, 'a', 'i', 'r', 't', 'i'}

type frame struct {
	due    time.Time
	number uint64 // order of arrival, which breaks ties
	bytes  []byte
}

type frameQueue []frame

func (q frameQueue) Len() int { return len(q) }
func (q frameQueue) Less(i, j int) bool {
	if q[i].due.Equal(q[j].due) {
		return q[i].number < q[j].number
	}
	return q[i].due.Before(q[j].due)
}
func (q frameQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *frameQueue) Push(x any)   { *q = append(*q, x.(frame)) }
func (q *frameQueue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func newHolder(sender *Host, held *ebpf.Map) (*holder, error) {
	h := &holder{done: make(chan struct{})}
	err := sender.Do(func() error {
		nic, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		// Protocol 0: for sending only.
		h.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if err := unix.Bind(h.fd, &unix.SockaddrLinklayer{Ifindex: nic.Index}); err != nil {
			return err
		}
		// Past the queue and the egress program, which the frame has passed already.
		return unix.SetsockoptInt(h.fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1)
	})
	if err != nil {
		return nil, fmt.Errorf("opening a packet socket in %s: %w", sender.Name, err)
	}
	h.reader, err = ringbuf.NewReader(held)
	if err != nil {
		return nil, fmt.Errorf("mapping the held frames: %w", err)
	}
	go h.run()
	return h, nil
}

func (h *holder) close() {
	_ = h.reader.Close()
	<-h.done
	_ = unix.Close(h.fd)
}

func (h *holder) run() {
	defer close(h.done)
	// The highest priority of nice: a frame that is some milliseconds late is another experiment.
	// No real-time priority: such a thread may wait for ever for one of the same Go program that
	// has none. Without the right to either, frames go when they can.
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20)
	var record ringbuf.Record
	for number := uint64(0); ; number++ {
		deadline := time.Time{}
		if len(h.queue) > 0 {
			deadline = h.queue[0].due
		}
		h.reader.SetDeadline(deadline)
		switch err := h.reader.ReadInto(&record); {
		case err == nil:
			h.take(record.RawSample, number)
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return
		}
		for now := time.Now(); len(h.queue) > 0 && !h.queue[0].due.After(now); {
			h.send(heap.Pop(&h.queue).(frame).bytes)
		}
	}
}

// take queues a struct held_frame.
func (h *holder) take(raw []byte, number uint64) {
	const head = int(unsafe.Offsetof(pathHeldFrame{}.Bytes))
	delay := time.Duration(binary.NativeEndian.Uint64(raw))
	length := binary.NativeEndian.Uint32(raw[8:])
	bytes := append([]byte(nil), raw[head:head+int(length)]...)
	copy(bytes[6:12], heldFrom[:])
	heap.Push(&h.queue, frame{due: time.Now().Add(delay), number: number, bytes: bytes})
}

func (h *holder) send(bytes []byte) {
	_, _ = unix.Write(h.fd, bytes) // a frame that the device refuses is lost, as on any path
	h.passed.Add(1)
}
