// Package command runs a user's command, ends it with a context and tells its exit status.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Options say how a command runs and ends. The zero value suits a command that may end at once.
type Options struct {
	// Signal asks the command to end when the context does. The default is SIGTERM.
	Signal syscall.Signal
	// Grace is the time for the command to end after Signal, before it is killed. The default is
	// DefaultGrace.
	Grace time.Duration
	// Attributes place the command in a cgroup. They may be nil.
	Attributes *syscall.SysProcAttr
	// WithParent makes Run's command end with this process, also if that is killed. Otherwise a
	// killed airtide leaves the user's program running.
	WithParent bool
	// Env is added to the environment of this process.
	Env []string
	// Started is called when the command runs. Its error ends the command. It may be nil.
	Started func() error
}

// DefaultGrace is the time for a command to end after a signal.
const DefaultGrace = 10 * time.Second

// New prepares a command that uses the standard input and outputs of this process.
func New(ctx context.Context, args []string, o Options) *exec.Cmd {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	c.Stdin = os.Stdin
	c.Stdout = os.Stdout
	c.Stderr = os.Stderr
	signal := o.Signal
	if signal == 0 {
		signal = syscall.SIGTERM
	}
	c.Cancel = func() error { return c.Process.Signal(signal) }
	c.WaitDelay = o.Grace
	if c.WaitDelay == 0 {
		c.WaitDelay = DefaultGrace
	}
	c.SysProcAttr = o.Attributes
	if len(o.Env) > 0 {
		c.Env = append(os.Environ(), o.Env...)
	}
	return c
}

// Run runs a command to its end. A status other than 0 is an *ExitError.
func Run(ctx context.Context, args []string, o Options) error {
	c := New(ctx, args, o)
	if o.WithParent {
		// The kernel sends the signal when the thread ends that started the command.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		attributes := syscall.SysProcAttr{}
		if c.SysProcAttr != nil {
			attributes = *c.SysProcAttr
		}
		attributes.Pdeathsig = syscall.SIGKILL
		c.SysProcAttr = &attributes
	}
	err := c.Start()
	if err == nil && o.Started != nil {
		if err = o.Started(); err != nil {
			_ = errors.Join(c.Cancel(), c.Wait())
			return err
		}
	}
	if err == nil {
		err = c.Wait()
	}
	if c.ProcessState != nil {
		if status := Status(c.ProcessState); status != 0 {
			return &ExitError{args[0], status}
		}
	}
	if err != nil {
		return fmt.Errorf("running %s: %w", args[0], err)
	}
	return nil
}

// Status returns the exit status of an ended process as a shell does: 128+n after signal n.
func Status(state *os.ProcessState) int {
	if wait, ok := state.Sys().(syscall.WaitStatus); ok && wait.Signaled() {
		return 128 + int(wait.Signal())
	}
	return state.ExitCode()
}

// ExitError means that a command ended with another status than 0.
type ExitError struct {
	Name string // name of the command
	Code int
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%s ended with exit status %d", e.Name, e.Code)
}

// CommandName is the name of the command.
func (e *ExitError) CommandName() string { return e.Name }

// ExitStatus is the status with which the program ends that ran the command.
func (e *ExitError) ExitStatus() int { return e.Code }
