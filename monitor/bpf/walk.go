package bpf

import (
	"fmt"
	"io"
	"os"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"airtide/monitor/owner"
)

// walkProgram announces the sockets that are there already. iter/tcp needs kernel 5.9.
const walkProgram = "walk_sockets"

// walkAll walks the sockets of every network namespace that can be found. It returns what could not be seen, for the
// description; nothing of it is fatal, since each flow is also found at its next segment.
func walkAll(prog *ebpf.Program) (missing []string) {
	list, _, err := owner.ListNetNS()
	if err != nil {
		return []string{fmt.Sprintf("idle connections: %v", err)}
	}
	if prog == nil {
		return []string{"idle connections: the kernel lacks iter/tcp (5.9), so each is seen at its next segment only"}
	}
	failed := 0
	for _, ns := range list {
		if err := inNetNS(ns.Path, func() error { return walk(prog) }); err != nil {
			failed++
			if failed == 1 {
				missing = append(missing, fmt.Sprintf("idle connections of namespace %s: %v", ns, err))
			}
		}
	}
	return missing
}

// walk runs the iterator once; it prints nothing, so reading to the end is all.
func walk(prog *ebpf.Program) error {
	it, err := link.AttachIter(link.IterOptions{Program: prog})
	if err != nil {
		return fmt.Errorf("attaching the iterator: %w", err)
	}
	defer it.Close()
	r, err := it.Open()
	if err != nil {
		return fmt.Errorf("opening the iterator: %w", err)
	}
	defer r.Close()
	if _, err := io.Copy(io.Discard, r); err != nil {
		return fmt.Errorf("walking the sockets: %w", err)
	}
	return nil
}

// inNetNS calls f on a thread that has entered the namespace. A thread that cannot return is not used again.
func inNetNS(path string, f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		result <- func() error {
			own, err := os.Open("/proc/thread-self/ns/net")
			if err != nil {
				return fmt.Errorf("opening the own network namespace: %w", err)
			}
			defer own.Close()
			other, err := os.Open(path)
			if err != nil {
				return fmt.Errorf("opening the network namespace: %w", err)
			}
			defer other.Close()
			if err := unix.Setns(int(other.Fd()), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("entering the network namespace: %w", err)
			}
			err = f()
			if unix.Setns(int(own.Fd()), unix.CLONE_NEWNET) == nil {
				runtime.UnlockOSThread()
			}
			return err
		}()
	}()
	return <-result
}
