//go:build kernel

package congestion

import (
	"context"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// mustLoad loads a kind under a unique name until the test ends.
func mustLoad(t *testing.T, k Kind, p Parameters) *Loaded {
	t.Helper()
	l, err := Load(k, Options{Name: uniqueName("at"), Parameters: p})
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// bpffs mounts a BPF file system for the test.
func bpffs(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := mountBPFFS(folder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return folder
}

func isAvailable(t *testing.T, name string) bool {
	t.Helper()
	all, err := Available()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(all, name)
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
