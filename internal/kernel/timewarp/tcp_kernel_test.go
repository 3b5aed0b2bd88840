//go:build kernel

package timewarp

import (
	"testing"

	"airtide/test/need"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// The program of the initial RTO is found again by its name, and an address where no module is
// changes nothing.
func TestTheInitialRTOsProgramComesAndGoes(t *testing.T) {
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
	for range 2 { // the second time in place of the first
		if err := attachInitialRTO(4711); err != nil {
			t.Fatal(err)
		}
	}
	if n := attached(); n != 1 {
		t.Errorf("%d are attached", n)
	}
	if err := detachInitialRTO(); err != nil {
		t.Error(err)
	}
	if n := attached(); n != 0 {
		t.Errorf("%d are left", n)
	}
}
