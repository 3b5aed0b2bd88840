package engine

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"airtide/internal/cell/queue"
)

// loop is the engine's thread. Only it touches the world, the ports and the packets.
type loop struct {
	world  World
	ports  []*port
	routes *routes
	pool   *pool

	// The start of virtual time; startNs is the same moment on clock.Now.
	start   time.Time
	startNs int64
	// beginNs is the virtual time of Begin, beginCPUNs the thread's processor time at Begin.
	beginNs, beginCPUNs int64

	coalesce  bool
	quantumNs int64

	epoll, wakeup int // wakeup is an eventfd: an order wakes the sleeping loop
	// withoutPwait2 is a kernel before 5.11.
	withoutPwait2 bool
	held          []*port // not read because their station's queue is full
	dirty         []*port // with gathered packets
	refusing      []*port // ports with a device that refuses packets
	spare         slot    // takes a packet when the pool is empty
	buffer        []byte  // a super-packet
	iov           [maxGather]unix.Iovec
	events        [64]unix.EpollEvent

	order  atomic.Int32  // for the loop, one at a time
	done   chan struct{} // an answer to each order; closed when the loop has ended. It holds one
	tickNs int64
	wakeNs int64

	lag, wake, turn histogram
	dropped         [queue.NumPlaces]uint64
	usage           unix.Rusage
	failure         error
	copied          snapshot
}

// Orders to the loop.
const (
	orderNone int32 = iota
	orderCopy
	orderReset
	orderBegin
	orderStop
)

const (
	// longestSleepNs bounds a sleep, so that the wake-up delay is measured on an idle cell too.
	longestSleepNs = 5e6
	tickEveryNs    = 10e6
)

func (l *loop) now() int64 { return int64(time.Since(l.start)) }

// open makes the loop's own descriptors and registers the ports.
func (l *loop) open() (err error) {
	l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("opening epoll: %w", err)
	}
	l.wakeup, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("opening an event descriptor: %w", err)
	}
	l.held = make([]*port, 0, len(l.ports))
	l.dirty = make([]*port, 0, len(l.ports))
	l.buffer = make([]byte, headroom+1<<16+slotBytes)
	l.spare.memory = new([slotBytes]byte)
	if err := unix.EpollCtl(
		l.epoll, unix.EPOLL_CTL_ADD, l.wakeup, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: -1},
	); err != nil {
		return fmt.Errorf("watching the event descriptor: %w", err)
	}
	for _, p := range l.ports {
		p.waiting = make([]*slot, 0, maxGather)
		event := &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(p.index)}
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, p.fd, event); err != nil {
			return fmt.Errorf("watching port %q: %w", p.Name, err)
		}
		if p.credit != nil {
			l.refusing = append(l.refusing, p)
		}
	}
	return nil
}

func (l *loop) close() {
	_ = unix.Close(l.epoll)
	_ = unix.Close(l.wakeup)
}

// run works until it is ordered to stop or a port fails, and then closes done. A panic leaves done
// open: the process ends by it and says why, where a closed done would say that the loop has ended.
func (l *loop) run() {
	l.work()
	close(l.done)
}

func (l *loop) work() {
	for l.failure == nil {
		now := l.now()
		if l.world.Next() <= now {
			l.world.Advance(now)
		}
		l.resume()
		l.flushAll()
		for _, p := range l.refusing {
			l.grant(p)
		}
		if now-l.tickNs >= tickEveryNs {
			l.tick(now)
		}
		if !l.execute() {
			return
		}
		l.wait()
	}
}

// wait sleeps until the world's next event or a packet, and reads the packets.
func (l *loop) wait() {
	now := l.now()
	l.turn.record(now - l.wakeNs)
	until := min(l.world.Next(), now+longestSleepNs)
	if l.quantumNs > 0 {
		until = max(until, l.wakeNs+l.quantumNs)
	}
	n, errno := l.sleep(max(until-now, 0))
	l.wakeNs = l.now()
	if errno != 0 && errno != unix.EINTR {
		l.failure = fmt.Errorf("waiting for packets: %w", errno)
		return
	}
	if n == 0 && until > now {
		l.wake.record(l.wakeNs - until)
	}
	if l.world.Next() <= l.wakeNs {
		l.world.Advance(l.wakeNs)
	}
	for i := range n {
		if fd := l.events[i].Fd; fd >= 0 {
			l.receive(l.ports[fd])
		} else {
			l.drainWakeup()
		}
	}
}

// drainWakeup empties the eventfd. Otherwise, epoll would return at once for ever. The order may
// have been executed before.
func (l *loop) drainWakeup() {
	var count [8]byte
	_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(l.wakeup), uintptr(unsafe.Pointer(&count)), uintptr(len(count)))
}

// sleep waits for a port, at most for the given time. It uses a system call that the runtime knows,
// unlike the calls for single packets. Otherwise the runtime would take the thread's processor
// context away at an arbitrary time.
func (l *loop) sleep(ns int64) (n int, errno syscall.Errno) {
	timeout := unix.NsecToTimespec(ns)
	if !l.withoutPwait2 {
		r, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events)),
			uintptr(len(l.events)), uintptr(unsafe.Pointer(&timeout)), 0, 0)
		if errno != unix.ENOSYS {
			return count(r, errno)
		}
		l.withoutPwait2 = true
	}
	// Before kernel 5.11 epoll counts in milliseconds; ppoll(2) waits for it by nanoseconds, one
	// call more.
	ready := [1]unix.PollFd{{Fd: int32(l.epoll), Events: unix.POLLIN}}
	if r, _, errno := unix.Syscall6(
		unix.SYS_PPOLL, uintptr(unsafe.Pointer(&ready)), 1, uintptr(unsafe.Pointer(&timeout)), 0, 0, 0,
	); errno != 0 || r == 0 {
		return 0, errno
	}
	r, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events)),
		uintptr(len(l.events)), 0, 0, 0)
	return count(r, errno)
}

func count(r uintptr, errno syscall.Errno) (int, syscall.Errno) {
	if errno != 0 {
		return 0, errno
	}
	return int(r), 0
}

// watch sets the events that epoll reports for a port.
func (l *loop) watch(p *port, events uint32) {
	event := unix.EpollEvent{Events: events, Fd: int32(p.index)}
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(l.epoll), unix.EPOLL_CTL_MOD, uintptr(p.fd),
		uintptr(unsafe.Pointer(&event)), 0, 0)
	if errno != 0 {
		l.fail(p, errno)
	}
}

func (l *loop) fail(p *port, err error) {
	l.failure = fmt.Errorf("port %q has failed: %w", p.Name, err)
}

// tick runs the periodic work.
func (l *loop) tick(now int64) {
	l.tickNs = now
	for _, p := range l.refusing {
		if !p.held {
			p.counts.KernelDropped += p.credit.settle()
		}
	}
	for _, p := range l.ports {
		if p.outside != nil {
			l.askAll(p)
		}
	}
}

// execute executes an order and reports whether the loop continues.
func (l *loop) execute() bool {
	order := l.order.Load()
	if order == orderNone {
		return true
	}
	switch order {
	case orderCopy:
		l.copied.take(l)
	case orderReset:
		l.resetLag()
	case orderBegin:
		l.begin()
	case orderStop:
		return false
	}
	l.order.Store(orderNone)
	l.done <- struct{}{}
	return true
}

func (l *loop) resetLag() {
	l.lag = histogram{}
	l.wake = histogram{}
	l.turn = histogram{}
	l.pool.low = len(l.pool.free)
}

// begin restarts all counters at the current time.
func (l *loop) begin() {
	now := l.now()
	if l.world.Next() <= now {
		l.world.Advance(now)
	}
	l.resetLag()
	l.beginCPUNs = l.cpuNs()
	l.beginNs = now
	l.dropped = [queue.NumPlaces]uint64{}
	l.pool.exhausted = 0
	for _, p := range l.ports {
		p.counts = PortCounts{}
	}
	if b, ok := l.world.(Beginner); ok {
		b.Begin(now)
	}
}

// cpuNs is the processor time that the loop's thread has used.
func (l *loop) cpuNs() int64 {
	if unix.Getrusage(unix.RUSAGE_THREAD, &l.usage) != nil {
		return 0
	}
	return l.usage.Utime.Nano() + l.usage.Stime.Nano()
}

// command gives the loop an order from another thread and waits until it is done. It returns false
// if the loop has ended.
func (l *loop) command(order int32) bool {
	l.order.Store(order)
	l.ring()
	_, ok := <-l.done
	return ok
}

// ring wakes the loop.
func (l *loop) ring() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(l.wakeup, one[:])
}

// callbacks returns the functions that the world may call.
func (l *loop) callbacks() Callbacks {
	return Callbacks{
		Deliver:   l.deliver,
		Drop:      l.drop,
		Copy:      l.copy,
		StationOf: func(p *queue.Packet) int { return slotOf(p).to.Station },
	}
}
