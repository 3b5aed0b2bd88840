package bpf

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// raisePriority gives the calling goroutine a thread of its own at the highest ordinary priority,
// so that the rings are drained in time while all processors are busy. restore undoes it. Without
// the privilege (CAP_SYS_NICE) the priority stays as it is: the lost counts show if it is too low.
func raisePriority() (restore func()) {
	runtime.LockOSThread()
	thread := unix.Gettid()
	// The system call answers 20 - nice, so that no priority looks like an error.
	before, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	if err != nil || unix.Setpriority(unix.PRIO_PROCESS, thread, -20) != nil {
		return runtime.UnlockOSThread
	}
	return func() {
		// A thread that cannot be set back is not used again: a goroutine that ends while locked
		// takes it along.
		if unix.Setpriority(unix.PRIO_PROCESS, thread, 20-before) == nil {
			runtime.UnlockOSThread()
		}
	}
}

// sleep waits on the calling thread, or for less time if a signal comes. A timer of Go would be
// served by another thread. That one has ordinary priority, so it waits for a processor while other
// programs keep all of them busy, and the rings run full meanwhile.
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
}

// pause waits for the next drain and reports whether the context has ended.
func (s *Source) pause(ctx context.Context, wait time.Duration) (done bool) {
	if s.options.Drain <= 0 {
		if ctx.Err() == nil {
			sleep(wait)
		}
		return ctx.Err() != nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-timer.C:
		return false
	}
}
