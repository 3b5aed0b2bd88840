// Package clock reads the clock of everything that is recorded.
package clock

import "golang.org/x/sys/unix"

// Now is CLOCK_MONOTONIC in nanoseconds, the time of samples and events.
func Now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail: the clock exists on every kernel
	return t.Nano()
}
