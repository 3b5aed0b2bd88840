package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"airtide/internal/vm"
)

// kernelLog follows a guest's kernel log as it is written, so that nothing is overwritten before it
// is read.
type kernelLog struct {
	guest *vm.Guest
	cat   *vm.Process

	mu    sync.Mutex
	text  strings.Builder // log since the last take
	grown chan struct{}   // closed when there is more
}

// follow begins with the log since the guest's start.
func follow(ctx context.Context, g *vm.Guest) (*kernelLog, error) {
	k := &kernelLog{guest: g, grown: make(chan struct{})}
	var err error
	k.cat, err = g.Start(ctx, vm.Command{
		Path: busyboxPath, Args: []string{"cat", "/dev/kmsg"},
		Stdout: k,
	})
	if err != nil {
		return nil, fmt.Errorf("following the kernel's log: %w", err)
	}
	return k, nil
}

func (k *kernelLog) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.text.Write(b)
	close(k.grown)
	k.grown = make(chan struct{})
	return len(b), nil
}

// takeLimit is the longest time until the log arrives.
const takeLimit = 2 * time.Minute

// take returns the log since the last call. It writes a mark into the log and waits until the mark
// arrives.
func (k *kernelLog) take(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, takeLimit, fmt.Errorf("the kernel's log has not come within %s",
		takeLimit))
	defer cancel()
	const mark = "airtide: the log is read up to here"
	if said, err := shell(ctx, k.guest, "echo '"+mark+"' >/dev/kmsg", nil, takeLimit, io.Discard); err != nil {
		return said, fmt.Errorf("marking the kernel's log: %w", err)
	}
	for {
		k.mu.Lock()
		text := k.text.String()
		grown := k.grown
		before, rest, marked := strings.Cut(text, mark)
		if marked {
			k.text.Reset()
			k.text.WriteString(rest)
		}
		k.mu.Unlock()
		if marked {
			return before[:strings.LastIndex(before, "\n")+1], nil // drops the head of the mark's line
		}
		select {
		case <-grown:
		case <-k.cat.Done():
			return text, fmt.Errorf("the kernel's log ended: %w", k.cat.Err())
		case <-ctx.Done():
			return text, context.Cause(ctx)
		}
	}
}

// complaintsIn are the lines of a kernel's log that should not be.
func complaintsIn(log string) (all []string) {
	for line := range strings.Lines(log) {
		if vm.IsKernelProblem(line) {
			_, message, _ := strings.Cut(strings.TrimSpace(line), ";")
			all = append(all, message)
		}
	}
	return all
}
