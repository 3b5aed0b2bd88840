//go:build kernel

package diag

import (
	"os/exec"
	"testing"
)

func run(t *testing.T, command string, args ...string) {
	t.Helper()
	if out, err := exec.Command(command, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s", command, args, err, out)
	}
}
