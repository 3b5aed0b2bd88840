// Package clock reads the clock of everything that is recorded.
package clock

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Now is CLOCK_MONOTONIC of the host in nanoseconds, the time of samples and events. The kernel's
// BPF programs know no other, also if this process is in a time namespace.
func Now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail: the clock exists on every kernel
	return t.Nano() - ahead.monotonic
}

// BootAhead is the time in nanoseconds by which CLOCK_BOOTTIME of the host is ahead of
// CLOCK_MONOTONIC: it has been suspended for so long.
func BootAhead() int64 {
	var boot unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) // cannot fail: Linux has it since 2.6.39
	return boot.Nano() - ahead.boot - Now()
}

// offsets are what a time namespace adds to the clocks of the host, in nanoseconds.
type offsets struct{ monotonic, boot int64 }

// ahead are the offsets of this process's time namespace.
var ahead = namespaceOffsets()

// namespaceOffsets reads the offsets. Without time namespaces (before Linux 5.6) and without /proc
// they are 0.
func namespaceOffsets() (o offsets) {
	text, _ := os.ReadFile("/proc/self/timens_offsets")
	for line := range strings.Lines(string(text)) {
		var name string
		var seconds, ns int64
		if n, _ := fmt.Sscan(line, &name, &seconds, &ns); n != 3 {
			continue
		}
		switch name {
		case "monotonic":
			o.monotonic = seconds*1e9 + ns
		case "boottime":
			o.boot = seconds*1e9 + ns
		}
	}
	return o
}
