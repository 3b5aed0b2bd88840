package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"airtide/screen"
	"airtide/tune"
)

// runTuned runs a command to its end, in its cgroup if it has one, and ends with its status.
func runTuned(ctx context.Context, group *tune.Group, command []string) error {
	if group == nil {
		return runCommand(ctx, command)
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.SysProcAttr = group.Attributes()
	err := c.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.Exited() {
		return exitStatus(ended.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("running %s: %w", command[0], err)
	}
	return nil
}

// quietFor is how long something may take without a word.
const quietFor = 2 * time.Second

// patiently says on a terminal what is going on when it takes long.
func patiently(what string, f func() error) error {
	if !screen.IsTerminal(os.Stderr) {
		return f()
	}
	done, said := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(said)
		begun, next := time.Now(), quietFor
		for {
			select {
			case <-done:
				if next > quietFor {
					fmt.Fprint(os.Stderr, "\r\x1b[K")
				}
				return
			case <-time.After(time.Until(begun.Add(next))):
				fmt.Fprintf(os.Stderr, "\r\x1b[K%s: %s", what, next)
				next += time.Second
			}
		}
	}()
	err := f()
	close(done)
	<-said
	return err
}
