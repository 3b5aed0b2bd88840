//go:build kernel

package thread

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/test/need"
)

func TestNamespacesOfTheProcessStay(t *testing.T) {
	need.Root(t)
	before, err := os.Readlink("/proc/self/ns/uts")
	if err != nil {
		t.Fatal(err)
	}
	var inside string
	err = Do(func() error {
		if err := unix.Unshare(unix.CLONE_NEWUTS); err != nil {
			return err
		}
		inside, err = os.Readlink("/proc/thread-self/ns/uts")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	after, err := os.Readlink("/proc/self/ns/uts")
	if err != nil || after != before || inside == before {
		t.Errorf("before %s, on the thread %s, after %s: %v", before, inside, after, err)
	}
}
