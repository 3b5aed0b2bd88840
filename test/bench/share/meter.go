package main

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// metered is the terminal whose work is measured.
const metered = 0

// meter measures the processor time of one terminal's agent: its datagrams and decisions, without
// sockets and the kernel's samples.
type meter struct{ busy time.Duration }

// newMeter ties the caller to its thread. The meter reads the thread's processor time.
func newMeter() *meter {
	runtime.LockOSThread()
	return &meter{}
}

func (m *meter) around(terminal int, work func()) {
	if terminal != metered {
		work()
		return
	}
	from := threadTime()
	work()
	m.busy += threadTime() - from
}

// take is the processor time since the last call.
func (m *meter) take() time.Duration {
	busy := m.busy
	m.busy = 0
	return busy
}

func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // cannot fail: the clock exists on every kernel
	return time.Duration(t.Nano())
}
