//go:build kernel

package tune

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/sockets/filter"
	"airtide/test/need"
	"airtide/test/testnet"
)

// bpffs mounts a BPF file system for the test, so that no tune of another test is met.
func bpffs(t *testing.T) string {
	t.Helper()
	need.Root(t)
	folder := t.TempDir()
	if err := congestion.EnsureBPFFS(folder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// network is two hosts without faults.
func network(t *testing.T) *testnet.Network {
	t.Helper()
	return testnet.New(t, testnet.Options{})
}

// cubic connects with CUBIC, also where it is not the machine's default.
var cubic = testnet.Dial{CongestionControl: "cubic"}

// client picks the sockets of the client's namespace.
func client(n *testnet.Network) Selection {
	return Selection{Filter: filter.Filter{NetNS: []uint32{n.Client.NetNS}}}
}

func port(c *net.TCPConn) uint16 { return c.LocalAddr().(*net.TCPAddr).AddrPort().Port() }

func mustApply(t *testing.T, s Selection, to Settings, o Options) *Applied {
	t.Helper()
	a, err := Apply(t.Context(), s, to, o)
	if err != nil {
		var refused *ebpf.VerifierError
		if errors.As(err, &refused) {
			t.Fatalf("%+v", refused)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := a.Undo(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a
}

func mustReport(t *testing.T, a *Applied) *Report {
	t.Helper()
	r, err := a.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustClose(t *testing.T, a *Applied) {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

// of finds a connection in a report.
func of(t *testing.T, r *Report, c *net.TCPConn) *Socket {
	t.Helper()
	want := testnet.Cookie(t, c)
	for i := range r.Sockets {
		if r.Sockets[i].Cookie == want {
			return &r.Sockets[i]
		}
	}
	t.Fatalf("the report has %d sockets, not this one: %+v", len(r.Sockets), r.Counts)
	return nil
}

// checkControl checks the congestion control of a socket.
func checkControl(t *testing.T, c *net.TCPConn, want string) {
	t.Helper()
	if got := testnet.CongestionControl(t, c); got != want {
		t.Errorf("congestion control: got %s, want %s", got, want)
	}
}

// checkLowat checks TCP_NOTSENT_LOWAT of a socket, in bytes.
func checkLowat(t *testing.T, c *net.TCPConn, want int) {
	t.Helper()
	if got := lowatOf(t, c); got != want {
		t.Errorf("TCP_NOTSENT_LOWAT: got %d, want %d", got, want)
	}
}

// listen opens a listener on a host until the test ends.
func listen(t *testing.T, h *testnet.Host) (*net.TCPListener, netip.AddrPort) {
	t.Helper()
	l, at, err := h.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, at
}

// dial connects from a host until the test ends.
func dial(t *testing.T, h *testnet.Host, to netip.AddrPort) *net.TCPConn {
	t.Helper()
	c, err := h.Dial(to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// abort closes connections so that nothing remains of them.
func abort(t *testing.T, all ...*net.TCPConn) {
	t.Helper()
	for _, c := range all {
		_ = c.SetLinger(0)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

var names atomic.Uint32

// loadBound loads cubic_bound under a name that no other test uses.
func loadBound(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("tu%d_%d", os.Getpid(), names.Add(1))
	l, err := congestion.Load(congestion.CubicBound,
		congestion.Options{Name: name, Parameters: congestion.CubicBound.Defaults()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return name
}

const patience = 20 * time.Second
