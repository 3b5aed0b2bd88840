package benchtext

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Run runs a benchmark and ends the process with status 1 when it fails. An interrupt ends the
// context, so the benchmark removes its setup.
func Run(name string, benchmark func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := benchmark(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
