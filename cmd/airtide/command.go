package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"airtide/internal/sys/command"
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

// runCommand runs a command to its end, with optional attributes such as its cgroup. Ctrl-C reaches
// the command like any program in the foreground.
func runCommand(ctx context.Context, args []string, attributes *syscall.SysProcAttr) error {
	err := command.Run(ctx, args, command.Options{Attributes: attributes})
	if ended, ok := errors.AsType[*command.ExitError](err); ok {
		return commandError{args[0], ended.Code}
	}
	return err
}
