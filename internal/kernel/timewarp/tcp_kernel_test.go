//go:build kernel

package timewarp

import (
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"airtide/test/need"
)

// The program of the initial RTO is attached once, and is found by its name to be detached.
func TestTheProgramOfTheInitialRTOIsAttachedAndDetached(t *testing.T) {
	need.Root(t)
	root, err := rootCgroup()
	if err != nil {
		t.Skipf("this kernel has no cgroups: %v", err)
	}
	defer unix.Close(root)
	attached := func() (n int) {
		if err := eachInitialRTO(root, func(*ebpf.Program) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for range 2 { // the second program replaces the first
		if err := attachInitialRTO(4711); err != nil {
			t.Fatal(err)
		}
	}
	if n := attached(); n != 1 {
		t.Errorf("attached programs: got %d, want 1", n)
	}
	if err := detachInitialRTO(); err != nil {
		t.Error(err)
	}
	if n := attached(); n != 0 {
		t.Errorf("programs after detaching: got %d, want 0", n)
	}
}
