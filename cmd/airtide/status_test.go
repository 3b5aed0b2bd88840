package main

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"airtide/internal/doctor"
	"airtide/internal/lab/judge"
	"airtide/internal/sys/command"
	"airtide/internal/view/terminal"
)

// statusNotHeld is the documented status of a claim that is not held.
const statusNotHeld = 3

func TestStatusFollowsTheTypeOfTheError(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		text   string
	}{
		{nil, 0, ""},
		{errors.New("no such flow"), statusFailed, "airtide: no such flow\n"},
		{
			fmt.Errorf("reading: %w", usageError{errors.New("missing argument FILE")}), statusMisuse,
			"airtide: reading: missing argument FILE\nSee 'info --help'.\n",
		},
		{exitStatus(7), 7, ""},
		{fmt.Errorf("judging: %w", judge.NotHeldError{}), statusNotHeld, ""},
		{doctor.UnusableError{}, statusFailed, ""},
	} {
		var out bytes.Buffer
		status := finish(&terminal.Terminal{Err: &out}, &cobra.Command{Use: "info FILE"}, c.err)
		if status != c.status || out.String() != c.text {
			t.Errorf("%v: status %d, %q, want %d, %q", c.err, status, out.String(), c.status, c.text)
		}
	}
}

func TestStatusOfACommandIsNotTakenForMisuse(t *testing.T) {
	err := command.Run(t.Context(), []string{"sh", "-c", "exit 2"}, command.Options{})
	var out bytes.Buffer
	status := finish(&terminal.Terminal{Err: &out}, &cobra.Command{Use: "tune"}, err)
	if want := "airtide: sh ended with exit status 2\n"; status != 2 || out.String() != want {
		t.Errorf("status %d, %q, want 2, %q", status, out.String(), want)
	}
}
