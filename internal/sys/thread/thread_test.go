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
