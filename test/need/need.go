// Package need fails tests that carry a build tag and lack a right or a program that the tag
// promises: kernel needs root, guest needs root and qemu, tools needs the programs that make setup
// installs.
package need

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
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

// Lab waits until no test of another package runs an experiment, and keeps others from it until the
// test ends. A machine runs one experiment at a time. A parallel test calls it behind t.Parallel,
// which waits for the serial tests of its package.
func Lab(tb testing.TB) {
	tb.Helper()
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "airtide-test-lab.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		tb.Fatalf("waiting for the experiments of other tests: %v", err)
	}
}
