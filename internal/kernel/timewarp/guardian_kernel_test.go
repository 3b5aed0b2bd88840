//go:build kernel

package timewarp

import (
	"os"
	"testing"

	"airtide/internal/sys/file"
)

// If a run is killed, its guardian restores the clock, the watchdogs and TCP without a command.
func TestModuleIsUndoneWhenItsRunIsKilled(t *testing.T) {
	if os.Getenv(moduleVariable) == "" {
		t.Skip("needs a kernel with the module: make test-timewarp")
	}
	k := Running()
	before := must(k.Status())(t)
	watchdogs := must(k.readWatchdogs())(t)
	cc := must(file.Line(k.defaultCC()))(t)
	t.Logf("output of the guardian: %s", killedRun(t))
	if now := must(k.Status())(t); *now != *before {
		t.Errorf("status: got %+v, want %+v as before", *now, *before)
	}
	for file, value := range must(k.readWatchdogs())(t) {
		if value != watchdogs[file] {
			t.Errorf("%s: got %d, want %d as before", file, value, watchdogs[file])
		}
	}
	if now := must(file.Line(k.defaultCC()))(t); now != cc {
		t.Errorf("default congestion control: got %s, want %s as before", now, cc)
	}
	TestNothingIsLeft(t)
}
