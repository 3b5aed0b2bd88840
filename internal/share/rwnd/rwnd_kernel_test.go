//go:build kernel

package rwnd

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/clock"
	"airtide/test/testnet"
)

const patience = 20 * time.Second

// begin attaches to a host's interfaces.
func begin(t *testing.T, h *testnet.Host, device string) *Windows {
	t.Helper()
	var w *Windows
	err := h.Do(func() (err error) { w, err = Attach(device); return err })
	if errors.Is(err, ErrNotSupported) && !newEnough(t) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// newEnough reports whether this kernel has TCX.
func newEnough(t *testing.T) bool {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major > 6 || major == 6 && minor >= 6
}

func endsOf(c *net.TCPConn) Ends {
	return Ends{netip.MustParseAddrPort(c.LocalAddr().String()), netip.MustParseAddrPort(c.RemoteAddr().String())}
}

// receiving is a connection on which the client receives over a path with a delay.
func receiving(t *testing.T, d testnet.Dial) (n *testnet.Network, client, server *net.TCPConn, w *Windows) {
	t.Helper()
	n = testnet.New(t, testnet.Options{Segments: true})
	n.Server.Out.Delay(delay)
	client, server = n.Connect(d)
	return n, client, server, begin(t, n.Client, "eth0")
}

const delay = 20 * time.Millisecond

// set sets a bound with a long lease.
func set(t *testing.T, w *Windows, b Bound) {
	t.Helper()
	if err := errors.Join(w.Set([]Bound{b}), w.ExtendLease(time.Duration(clock.Now())+time.Hour)); err != nil {
		t.Fatal(err)
	}
}

// measure returns the measurement of about a second with the present bound.
func measure(t *testing.T, w *Windows, e Ends) (s Sample) {
	t.Helper()
	if _, err := w.Measure([]Ends{e}); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, patience, "round-trip times", func() bool {
		all, err := w.Measure([]Ends{e})
		if err != nil {
			t.Fatal(err)
		}
		s = all[0]
		return s.RTT > 0
	})
	return s
}

func TestAWindowIsBoundedAndFreedAgain(t *testing.T) {
	for _, d := range []testnet.Dial{{}, {V6: true}, {Mapped: true}} {
		_, client, server, w := receiving(t, d)
		testnet.Stream(t, server, client)
		e := endsOf(client)
		set(t, w, Bound{e, 0})
		seesMore := func(than uint32) func() bool {
			return func() bool { return testnet.Info(t, server).Snd_wnd > than }
		}
		testnet.Eventually(t, patience, "a large window", seesMore(60_000))
		const bound = 32 << 10
		set(t, w, Bound{e, bound})
		isBounded := func() bool {
			window := testnet.Info(t, server).Snd_wnd
			return window >= bound && window < bound+1<<14
		}
		testnet.Eventually(t, patience, "the bound", isBounded)
		if s := measure(t, w, e); s.RTT < delay || s.MinRTT < delay || s.MinRTT > s.RTT {
			t.Errorf("measured %+v over a path of %s", s, delay)
		}
		testnet.Eventually(t, patience, "the window to be in use", func() bool {
			s := measure(t, w, e)
			return s.InUse > 0.5 && s.Bounded > 0
		})
		// The lease runs out.
		if err := w.ExtendLease(time.Duration(clock.Now())); err != nil {
			t.Fatal(err)
		}
		testnet.Eventually(t, patience, "the window to be free when the lease has run out", seesMore(60_000))
		set(t, w, Bound{e, bound})
		testnet.Eventually(t, patience, "the bound again", isBounded)
		if err := w.Set(nil); err != nil {
			t.Fatal(err)
		}
		testnet.Eventually(t, patience, "the window to be free when the bound is lifted", seesMore(60_000))
		set(t, w, Bound{e, bound})
		testnet.Eventually(t, patience, "the bound at last", isBounded)
		// The kernel closes the descriptors of a killed process like this.
		if err := errors.Join(w.devices.close(), w.objects.Close()); err != nil {
			t.Fatal(err)
		}
		w.devices.namespace = nil
		w.objects = windowObjects{}
		testnet.Eventually(t, patience, "the window to be free when the programs are gone", seesMore(60_000))
	}
}

func TestASenderWithLittleToSendDoesNotUseTheWindow(t *testing.T) {
	_, client, server, w := receiving(t, testnet.Dial{})
	e := endsOf(client)
	set(t, w, Bound{e, 64 << 10})
	go func() { _, _ = io.Copy(io.Discard, client) }()
	for range 50 {
		if _, err := server.Write(make([]byte, 4000)); err != nil {
			t.Fatal(err)
		}
		testnet.Eventually(
			t, patience, "what was sent to be acknowledged",
			func() bool { return testnet.Info(t, server).Unacked == 0 },
		)
	}
	if all, err := w.Measure([]Ends{e}); err != nil || all[0].InUse > 0 || all[0].RTT < delay {
		t.Errorf("measured %+v: %v", all, err)
	}
}

func TestNewInterfacesAreAttached(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	w := begin(t, n.Client, "")
	if len(w.devices.links) != 1 {
		t.Errorf("attached interfaces: got %d, want 1", len(w.devices.links))
	}
	if out, err := n.Client.Run("ip", "link", "add", "more0", "type", "veth", "peer", "name", "more1"); err != nil {
		t.Fatal(out, err)
	}
	if err := w.AttachNewInterfaces(); err != nil || len(w.devices.links) != 3 {
		t.Errorf("attached interfaces: got %d, %v, want 3", len(w.devices.links), err)
	}
	if out, err := n.Client.Run("ip", "link", "del", "more0"); err != nil {
		t.Fatal(out, err)
	}
	if err := w.AttachNewInterfaces(); err != nil || len(w.devices.links) != 1 {
		t.Errorf("attached interfaces: got %d, %v, want 1", len(w.devices.links), err)
	}
	if one := begin(t, n.Client, "nosuch0"); len(one.devices.links) != 0 {
		t.Errorf("attached interfaces of a missing name: got %d, want 0", len(one.devices.links))
	}
}
