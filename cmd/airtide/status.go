package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"airtide/internal/lab/judge"
	"airtide/internal/view/terminal"
)

// Exit statuses of errors without a status of their own.
const (
	statusFailed = 1
	statusMisuse = 2 // wrong flags or arguments
	// statusInterrupted follows Ctrl-C.
	statusInterrupted = 128 + int(syscall.SIGINT)
)

// statusTable describes the exit statuses for airtide help exit-codes.
var statusTable = []struct {
	status  int
	meaning string
}{
	{0, "done; also if the reader of the output has gone, as head does"},
	{statusFailed, "failed: the message says why"},
	{statusMisuse, "misuse: wrong flags or arguments"},
	{judge.NotHeldError{}.ExitStatus(), "a claim of an experiment does not hold (lab run, lab show)"},
	{statusInterrupted, "interrupted by Ctrl-C before the work was done; 128+n by signal n"},
}

// statusOf describes the verbs whose exit status says more.
var statusOf = []struct{ verb, meaning string }{
	{"doctor", "1 if no verb that needs the kernel can run"},
	{"lab check, cell check", "1 if a file has errors"},
	{"lab run, lab resume", "1 if a run failed; a claim that is not decided changes nothing"},
	{"share status", "1 if no agent runs"},
	{
		"timewarp run, tune -- COMMAND, cc load -- COMMAND, cell run -- COMMAND, record -- COMMAND, " +
			"diagnose -- COMMAND",
		"the status of the command",
	},
}

// usageError is a mistake in the command line. A hint at --help follows it.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// statusError is an error with its own exit status and without a further message, such as
// judge.NotHeldError and doctor.UnusableError.
type statusError interface {
	error
	ExitStatus() int
}

// commandError says that a user's command ended with another status than 0.
type commandError interface {
	statusError
	CommandName() string
}

// exitStatus ends the program after everything has been printed.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// ExitStatus implements statusError.
func (s exitStatus) ExitStatus() int { return int(s) }

// interruption is the cause of a context that a signal ended.
type interruption struct{ signal syscall.Signal }

func (interruption) Error() string { return "interrupted" }

// readerGone reports whether a verb failed because the reader of its output has ended.
func readerGone(err error) bool {
	_, network := errors.AsType[*net.OpError](err)
	return errors.Is(err, syscall.EPIPE) && !network
}

// finish prints the error of a verb and returns the exit status of the program.
func finish(t *terminal.Terminal, cmd *cobra.Command, err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[commandError](err); ok {
		t.Warnf("%v", e) // without it, status 2 would look like a misuse of airtide
	}
	if s, ok := errors.AsType[statusError](err); ok {
		return s.ExitStatus()
	}
	if readerGone(err) {
		return 0
	}
	if cmd != nil && cmd.Context() != nil {
		if i, ok := errors.AsType[interruption](context.Cause(cmd.Context())); ok {
			t.Warnf("%s", strings.ReplaceAll(err.Error(), context.Canceled.Error(), i.Error()))
			return 128 + int(i.signal)
		}
	}
	t.Warnf("%v", err)
	if _, ok := errors.AsType[usageError](err); ok {
		t.Notef("See '%s --help'.", cmd.CommandPath())
		return statusMisuse
	}
	return statusFailed
}
