package congestion

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/testnet"
)

var names atomic.Uint32

// uniqueName is a name that no other test on this machine uses: congestion controls are one for the whole machine.
func uniqueName(prefix string) string {
	return fmt.Sprintf("%s%d_%d", prefix, os.Getpid(), names.Add(1))
}

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

func info(t *testing.T, c *net.TCPConn) *unix.TCPInfo {
	t.Helper()
	i, err := testnet.Info(c)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// option reads the congestion control of a socket.
func option(t *testing.T, c *net.TCPConn) (name string) {
	t.Helper()
	err := testnet.Control(c, func(fd int) (err error) {
		name, err = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func cookie(t *testing.T, c *net.TCPConn) (n uint64) {
	t.Helper()
	err := testnet.Control(c, func(fd int) (err error) {
		n, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func send(t *testing.T, from, to *net.TCPConn, bytes int64) {
	t.Helper()
	if err := testnet.Send(from, to, bytes); err != nil {
		t.Fatal(err)
	}
}
