//go:build kernel

package share

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/test/testnet"
)

// ip runs ip in a host's namespace.
func ip(t *testing.T, h *testnet.Host, args ...string) {
	t.Helper()
	if _, err := h.Run("ip", args...); err != nil {
		t.Fatal(err)
	}
}

// followed is the longest time until flows at a new address are bounded: half a second to notice
// the address, 1.5 s of a processor to load programs, and the time to find the peers.
const followed = 4 * time.Second

// A terminal gets another address, as by DHCP on another network. It starts a new session, bounds
// new flows and frees old flows. Then it has no address for some time.
func TestANewAddressStartsANewSession(t *testing.T) {
	n, before, _ := narrow(t)
	key := cellkey.New()
	heard := overhear(t, n.Server)
	a := run(t, n.Client, Config{Key: key, Policy: control.Shares, MaxBps: lowRate})
	b := run(t, n.Server, Config{Key: key, Policy: control.Observe, MaxBps: lowRate})
	testnet.Eventually(t, longEnough, "a bound", func() bool { return bound(a.now()) })
	sessions := map[uint64]bool{}
	for _, d := range heard.take() {
		sessions[d.session] = true
	}
	if len(sessions) != 2 {
		t.Fatalf("sessions of two terminals: got %d, want 2", len(sessions))
	}

	other := netip.MustParseAddr("10.77.0.9")
	ip(t, n.Client, "addr", "del", n.Client.V4.String()+"/24", "dev", "eth0")
	ip(t, n.Client, "addr", "replace", other.String()+"/24", "dev", "eth0")
	began := time.Now()
	waits := waited(t)
	inTime(t, began, "no bounds", func() bool { return !a.now().Bounded && len(a.now().Windows) == 0 })
	n.Client.V4 = other
	after, server := n.Connect(testnet.Dial{CongestionControl: "reno"})
	testnet.Stream(t, after, server)
	const what = "a bound of the flow at the new address"
	testnet.Eventually(t, longEnough, what, func() bool {
		s := a.now()
		return bound(s) && len(s.Windows) == 1 && s.Windows[0].Local.Addr() == other
	})
	judge(t, time.Since(began), waited(t)-waits, followed, what)
	testnet.Eventually(t, longEnough, "the window to be bounded", func() bool {
		s := a.now()
		return len(s.Windows) == 1 && testnet.Info(t, after).Snd_cwnd <= s.Windows[0].Packets+1
	})
	if cc := testnet.CongestionControl(t, before); cc != "reno" {
		t.Errorf("congestion control of the flow at the old address: got %s, want reno", cc)
	}
	testnet.Eventually(t, longEnough, "the other terminal to know only the new address", func() bool {
		return len(b.now().Peers) == 1
	})
	fresh := 0
	for _, d := range heard.take() {
		if !sessions[d.session] {
			sessions[d.session] = true
			fresh++
		}
	}
	if fresh != 1 {
		t.Errorf("new sessions after the change of address: got %d, want 1", fresh)
	}

	ip(t, n.Client, "addr", "flush", "dev", "eth0")
	testnet.Eventually(t, longEnough, "the status to name the missing address", func() bool {
		s := a.now()
		return !s.Bounded && strings.Contains(s.Reason, "interface eth0 has no address") && s.PID > 0
	})
	ip(t, n.Client, "addr", "replace", n.Server.V4.Next().String()+"/24", "dev", "eth0")
	waitForEachOther(t, a, b)
}

// An address counts after two checks. Without an interface, the routes to peers decide.
func TestAddressesCountAfterTwoChecks(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	peer := Config{}
	peer.Link.Peers = append(peer.Link.Peers, netip.AddrPortFrom(n.Server.V4, 4748))
	for name, c := range map[string]Config{"interface": {Interface: "eth0"}, "peer": peer} {
		var at *addressWatch
		if err := n.Client.Do(func() (err error) {
			at, err = openAddresses(&c)
			if err == nil {
				err = at.take()
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer at.close()
		now := time.Duration(0)
		moves := func() bool {
			now += lookForAddresses
			return at.moved(now)
		}
		movesIn := func(looks int) (moved bool) {
			for range looks {
				moved = moves() || moved
			}
			return moved
		}
		other := []string{"addr", "replace", "10.77.0.9/24", "dev", "eth0"}
		switch name {
		case "interface":
			ip(t, n.Client, other...)
			seen := moves()
			ip(t, n.Client, "addr", "del", "10.77.0.9/24", "dev", "eth0")
			if seen || movesIn(2) {
				t.Error("an address counts although it was removed after one check")
			}
		case "peer":
			ip(t, n.Client, "link", "set", "eth0", "down")
			if movesIn(3) {
				t.Error("a missing route to a peer counts as another address")
			}
			ip(t, n.Client, "link", "set", "eth0", "up")
		}
		ip(t, n.Client, "addr", "del", n.Client.V4.String()+"/24", "dev", "eth0")
		ip(t, n.Client, other...)
		first := moves()
		if first || !moves() {
			t.Errorf("%s: another address counts after one check: %t, want only after two", name, first)
		}
		if err := at.take(); err != nil || moves() || moves() {
			t.Errorf("%s: the same address counts as another: %v", name, err)
		}
		ip(t, n.Client, "addr", "del", "10.77.0.9/24", "dev", "eth0")
		ip(t, n.Client, "addr", "replace", n.Client.V4.String()+"/24", "dev", "eth0")
	}
}
