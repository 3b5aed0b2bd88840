// Package need fails tests that carry a build tag and lack a right or a program that the tag
// promises: kernel needs root, guest needs root and qemu, tools needs the programs that make setup
// installs.
package need

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// Root fails the test of any user but root.
func Root(tb testing.TB) {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Fatal("this test needs root: BPF, namespaces and mounts")
	}
}

// Guest fails the test if virtual machines of this machine's architecture cannot be run.
func Guest(tb testing.TB) {
	tb.Helper()
	Root(tb) // for TAP devices
	emulators := map[string]string{"amd64": "qemu-system-x86_64", "arm64": "qemu-system-aarch64"}
	Tool(tb, emulators[runtime.GOARCH])
}

// Tool returns the path of a program, and fails the test if it is missing.
func Tool(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Fatalf("this test needs %s: run make setup: %v", name, err)
	}
	return path
}
