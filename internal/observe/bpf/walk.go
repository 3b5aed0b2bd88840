package bpf

import (
	"fmt"
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"airtide/internal/kernel/sockets/owner"
)

// walkProgram announces the sockets that are there already. iter/tcp needs kernel 5.9.
const walkProgram = "walk_sockets"

// walkAll walks the sockets of every network namespace that can be found. It returns the missing
// parts for the description. None is fatal, since each flow is also found at its next segment.
func walkAll(prog *ebpf.Program) (missing []string) {
	list, _, err := owner.ListNetNS()
	if err != nil {
		return []string{fmt.Sprintf("idle connections: %v", err)}
	}
	failed := 0
	for _, ns := range list {
		if err := owner.InNetNS(ns, func() error { return walk(prog) }); err != nil {
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
