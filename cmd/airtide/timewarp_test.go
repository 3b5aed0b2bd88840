package main

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"airtide/internal/kernel/timewarp"
)

func TestTimewarpMisuse(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"timewarp", "nonsense"}, "nonsense"},
		{[]string{"timewarp", "set"}, "N"},
		{[]string{"timewarp", "set", "0"}, "forward"},
		{[]string{"timewarp", "set", "--", "-3"}, "forward"},
		{[]string{"timewarp", "set", "1001"}, "out of range"},
		{[]string{"timewarp", "set", "99999999999999999999999"}, "out of range"},
		{[]string{"timewarp", "set", "NaN"}, "want a number"},
		{[]string{"timewarp", "set", "1e3"}, "want a number"},
		{[]string{"timewarp", "set", "10", "--rto", "usual"}, "bounds, paper or none"},
		{[]string{"timewarp", "run", "-N", "10", "--rto", "", "--", "true"}, "bounds, paper or none"},
		{[]string{"timewarp", "run", "-N", "inf", "--", "true"}, "want a number"},
		{[]string{"timewarp", "set", "1/11"}, "out of range"},
		{[]string{"timewarp", "set", "ten"}, "want a number"},
		{[]string{"timewarp", "set", "1000001/1000003"}, "too fine"},
		{[]string{"timewarp", "load", "10"}, "10"},
		{[]string{"timewarp", "build", "here"}, "behind --"},
		{[]string{"timewarp", guardVerb, "now"}, "now"},
		{[]string{"timewarp", "run", "-N", "10"}, "no command"},
		{[]string{"timewarp", "run", "--", "true"}, "-N"},
		{[]string{"timewarp", "run", "-N", "0", "--", "true"}, "forward"},
		{[]string{"timewarp", "run", "-N", "10", "true"}, "behind --"},
	} {
		stdout, stderr, status := run(t, c.args...)
		if status != statusMisuse || !strings.Contains(stderr, c.want) || stdout != "" ||
			strings.Count(stderr, "\n") > 2 {
			t.Errorf("airtide %s: status %d, %q, %q", strings.Join(c.args, " "), status, stdout, stderr)
		}
	}
}

// The verbs fail clearly if the kernel has no modules. Otherwise, queries change nothing.
func TestTimewarpOnThisKernel(t *testing.T) {
	if err := timewarp.Running().Support(); errors.Is(err, timewarp.ErrNoModules) {
		for _, args := range [][]string{
			{"timewarp", "load"},
			{"timewarp", "set", "2"},
			{"timewarp", "status"},
			{"timewarp", "unload"},
			{"timewarp", "run", "-N", "2", "--", "true"},
		} {
			_, stderr, status := run(t, args...)
			if status != statusFailed || !strings.Contains(stderr, "CONFIG_MODULES") ||
				!strings.Contains(stderr, "still works") ||
				strings.Count(stderr, "\n") != 1 {
				t.Errorf("airtide %s: status %d: %s", strings.Join(args, " "), status, stderr)
			}
		}
		return
	}
	var s timewarp.Status
	if err := json.Unmarshal([]byte(mustRun(t, "timewarp", "status", "--json")), &s); err != nil ||
		s.ClockSource == "" {
		t.Errorf("%v: %+v", err, s)
	}
}

func TestTimewarpBuildNeedsHeaders(t *testing.T) {
	_, stderr, status := run(t, "timewarp", "build", "--kernel-headers", t.TempDir(), "-o", t.TempDir()+"/x.ko")
	if status != statusFailed || !strings.Contains(stderr, "no headers of a configured kernel") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

func TestTimewarpHelpHasExamples(t *testing.T) {
	for _, verb := range []string{"build", "load", "set", "status", "unload", "run"} {
		if out := mustRun(t, "timewarp", verb, "--help"); !strings.Contains(out, "Examples:") ||
			!strings.Contains(out, "airtide timewarp "+verb) {
			t.Errorf("airtide timewarp %s --help has no examples", verb)
		}
	}
	if out := mustRun(t, "timewarp", "--help"); strings.Contains(out, guardVerb) {
		t.Errorf("help tells users of what run does by itself: %s", out)
	}
}

// The test in guests, which takes an hour, expects the present warnings.
func TestTheGuestsExpectThePresentWarnings(t *testing.T) {
	script, err := os.ReadFile("../../scripts/test-timewarp")
	if err != nil {
		t.Fatal(err)
	}
	for _, warning := range []string{restoredFirst, runWasKilled} {
		if !strings.Contains(string(script), warning) {
			t.Errorf("scripts/test-timewarp does not expect %q", warning)
		}
	}
}
