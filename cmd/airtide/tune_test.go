package main

import (
	"strings"
	"testing"
)

func TestTuneHelp(t *testing.T) {
	for _, verb := range [][]string{{}, {"show"}, {"undo"}} {
		out := mustRun(t, append(append([]string{"tune"}, verb...), "--help")...)
		if want := strings.TrimSpace("airtide tune " + strings.Join(verb, "")); !strings.Contains(out, "Examples:") ||
			!strings.Contains(out, want) {
			t.Errorf("%s --help has no examples:\n%s", want, out)
		}
	}
}
