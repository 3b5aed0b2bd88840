package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"airtide/internal/kernel/tune"
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
