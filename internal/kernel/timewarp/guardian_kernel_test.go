//go:build kernel

package timewarp

import (
	"os"
	"testing"

	"airtide/internal/sys/file"
)

// In the kernel that runs, all of it is as before without another command, TCP too.
func TestModuleIsTakenBackWhenItsRunIsKilled(t *testing.T) {
	if os.Getenv(moduleVariable) == "" {
		t.Skip("needs a kernel with the module: make test-timewarp")
	}
	k := Running()
	before, watchdogs := must(k.Status())(t), must(k.readWatchdogs())(t)
	cc := must(file.Line(k.defaultCC()))(t)
	t.Logf("the guardian said: %s", killedRun(t))
	if now := must(k.Status())(t); *now != *before {
		t.Errorf("it was %+v and is %+v", *before, *now)
	}
	for file, value := range must(k.readWatchdogs())(t) {
		if value != watchdogs[file] {
			t.Errorf("%s was %d and is %d", file, watchdogs[file], value)
		}
	}
	if now := must(file.Line(k.defaultCC()))(t); now != cc {
		t.Errorf("the congestion control was %s and is %s", cc, now)
	}
	TestNothingIsLeft(t)
}
