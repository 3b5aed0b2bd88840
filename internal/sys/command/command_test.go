package command

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestStatusIsThatOfTheCommand(t *testing.T) {
	for script, want := range map[string]int{
		"exit 0":                             0,
		"exit 7":                             7,
		"kill -TERM $$":                      128 + 15,
		"kill -KILL $$":                      128 + 9,
		`test "$COMMAND_TEST" = x || exit 1`: 0,
	} {
		err := Run(t.Context(), []string{"sh", "-c", script}, Options{Env: []string{"COMMAND_TEST=x"}})
		status := 0
		if exit, ok := errors.AsType[*ExitError](err); ok {
			status = exit.ExitStatus()
		} else if err != nil {
			t.Errorf("%s: %v", script, err)
		}
		if status != want {
			t.Errorf("%s ends with %d, expected %d", script, status, want)
		}
	}
	if err := Run(t.Context(), []string{"no-such-program"}, Options{}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a missing program gives %v", err)
	}
}

func TestTheCommandEndsWithTheContext(t *testing.T) {
	for _, c := range []struct {
		name, script string
		options      Options
		status       int
	}{
		{"by SIGTERM", "exec sleep 60", Options{}, 128 + 15},
		{"by its own signal", `trap "exit 5" INT; while :; do sleep 0.01; done`, Options{Signal: syscall.SIGINT}, 5},
		{
			"killed when it ignores the signal", `trap "" TERM; while :; do sleep 0.01; done`,
			Options{Grace: 200 * time.Millisecond},
			128 + 9,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			began := time.Now()
			err := Run(ctx, []string{"sh", "-c", c.script}, c.options)
			exit, ok := errors.AsType[*ExitError](err)
			if !ok || exit.Code != c.status {
				t.Errorf("ended with %v, expected status %d", err, c.status)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}
