package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// commandError is the exit status of a command that a verb has run. The verb ends with the same
// status, and a line names the command: without it, status 2 would look like a misuse of airtide.
type commandError struct {
	command string
	status  int
}

func (e commandError) Error() string {
	return fmt.Sprintf("%s ended with exit status %d", e.command, e.status)
}

// ExitStatus implements statusError.
func (e commandError) ExitStatus() int { return e.status }

// runCommand runs a command to its end, with attributes such as its cgroup, or nil. Ctrl-C reaches
// it as it reaches any program in the foreground.
func runCommand(ctx context.Context, command []string, attributes *syscall.SysProcAttr) error {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.SysProcAttr = attributes
	err := c.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.Exited() {
		return commandError{command[0], ended.ExitCode()}
	}
	if err != nil {
		return fmt.Errorf("running %s: %w", command[0], err)
	}
	return nil
}
