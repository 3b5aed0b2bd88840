//go:build kernel

package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestFairnessOfARecording(t *testing.T) {
	path := recording(t)
	// Both ends of the one connection were recorded: it counts once.
	r := fairnessOf(t, path)
	if len(r.Rates) != 1 || !about(r.Jain, 1) || r.Of != "flow" || r.Rates[0] < 0.1 {
		t.Errorf("%+v", r)
	}
	if r := fairnessOf(t, path, "--by", "peer", "--max", "100000"); fmt.Sprint(r.Names) != "[127.0.0.1]" ||
		r.Airtime == nil {
		t.Errorf("%+v", r)
	}
	if _, stderr, status := run(t, "fairness", path, "--least", "1000Gbit"); status != statusFailed ||
		!strings.Contains(stderr, "--least") {
		t.Errorf("status %d: %s", status, stderr)
	}
}
