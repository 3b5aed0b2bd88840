//go:build kernel

package awake

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"
)

// The device returns the strictest request of all its holders.
func TestProcessorsStayAwakeUntilClosed(t *testing.T) {
	asked := func() int32 {
		t.Helper()
		b, err := os.ReadFile(device)
		if err != nil || len(b) != 4 {
			t.Fatalf("%q, %v", b, err)
		}
		return int32(binary.NativeEndian.Uint32(b))
	}
	k, err := Keep()
	if errors.Is(err, ErrNoEffect) {
		t.Skip(err)
	}
	if errors.Is(err, os.ErrPermission) {
		t.Skip("needs root")
	}
	if err != nil {
		t.Fatal(err)
	}
	if us := asked(); us != 0 {
		t.Errorf("processors may take %d us to wake up", us)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}
