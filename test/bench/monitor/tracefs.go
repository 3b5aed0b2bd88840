package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const tracefs = "/sys/kernel/tracing"

// mountTracefs mounts the descriptions of the tracepoints for bpftrace and perf, unless they are
// mounted. Undo unmounts them.
func mountTracefs() (undo func(), err error) {
	if _, err := os.Stat(tracefs + "/events"); err == nil {
		return func() {}, nil
	}
	if err := unix.Mount("tracefs", tracefs, "tracefs", 0, ""); err != nil {
		return nil, fmt.Errorf("mounting tracefs on %s, which bpftrace and perf need: %w", tracefs, err)
	}
	return func() { _ = unix.Unmount(tracefs, unix.MNT_DETACH) }, nil
}
