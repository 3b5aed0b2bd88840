package thread

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheMainThreadIsSpared(t *testing.T) {
	want := errors.New("said by f")
	for range 200 {
		err := Do(func() error {
			if unix.Gettid() == os.Getpid() {
				t.Error("it runs on the main thread")
			}
			return want
		})
		if !errors.Is(err, want) {
			t.Fatalf("error %v, want that of f", err)
		}
	}
}

func TestNamespacesOfTheProcessStay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("making a namespace needs root")
	}
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
