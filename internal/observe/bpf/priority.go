package bpf

import (
	"runtime"

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
