package bpf

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// hurry gives the calling goroutine a thread of its own at the highest ordinary priority, so that a
// machine whose processors are all busy still drains the rings in time, and returns what undoes it.
// Without the privilege (CAP_SYS_NICE) the priority stays as it is; the lost counts tell when that
// is too low.
func hurry() (relax func()) {
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
