package main

import (
	"strings"
	"testing"
)

func TestCCMisuse(t *testing.T) {
	for _, args := range [][]string{
		{"load"},
		{"load", "vegas"},
		{"load", "compound", "--rtt-ref", "1s"},
		{"load", "cubic_rtt", "--rtt-ref", "1us"},
		{"load", "cubic_plain", "--beta", "2"},
		{"load", "compound", "--gamma", "NaN"},
		{"load", "cubic_bound", "--time-ratio", "0"},
		{"load", "cubic_bound", "--time-ratio", "fast"},
		{"load", "compound", "--time-ratio", "10"},
		{"load", "compound", "--as", "a/b"},
		{"load", "compound", "--as", ""},
		{"load", "compound", "--"},
		{"list", "more"},
		{"unload"},
		{"reload"},
	} {
		if _, stderr, status := run(t, append([]string{"cc"}, args...)...); status != statusMisuse ||
			!strings.Contains(stderr, "--help") {
			t.Errorf("airtide cc %v gives status %d: %s", args, status, stderr)
		}
	}
}

func TestCCHelp(t *testing.T) {
	for _, verb := range [][]string{{}, {"load"}, {"list"}, {"unload"}} {
		out := mustRun(t, append(append([]string{"cc"}, verb...), "--help")...)
		if want := strings.TrimSpace("airtide cc " + strings.Join(verb, "")); !strings.Contains(out, "Examples:") ||
			!strings.Contains(out, want) {
			t.Errorf("%s --help has no examples:\n%s", want, out)
		}
	}
	if out := mustRun(t, "__complete", "cc", "load", ""); !strings.Contains(out, "cubic_rttk\t") {
		t.Errorf("load does not complete: %s", out)
	}
}
