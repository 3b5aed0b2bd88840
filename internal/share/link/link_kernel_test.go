//go:build kernel

package link

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"airtide/test/testnet"
)

// heard collects the datagrams that a link receives.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) take(from netip.AddrPort, datagram []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, from.Addr().String()+" "+string(datagram))
}

func (h *heard) has(what string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.all, what)
}

func open(t *testing.T, h *testnet.Host, c Config) (*Link, *heard) {
	t.Helper()
	var l *Link
	err := h.Do(func() (err error) {
		l, err = Open(c)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := &heard{}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Receive(ctx, got.take) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, got
}

func TestMulticastOfBothFamilies(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	a, ownA := open(t, n.Client, Config{Interface: "eth0"})
	_, b := open(t, n.Server, Config{Interface: "eth0"})
	if groups := a.Groups(); !groups.Both() {
		t.Fatalf("groups: got %+v, want one of each family", groups)
	}
	if err := a.Send([]byte("hello"), a.Groups()); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(
		t, 5*time.Second, "the datagram over IPv4", func() bool { return b.has(n.Client.V4.String() + " hello") },
	)
	six := func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return slices.ContainsFunc(b.all, func(s string) bool {
			return strings.HasPrefix(s, "fe80:") || strings.HasPrefix(s, "fd77:")
		})
	}
	testnet.Eventually(t, 5*time.Second, "the datagram over IPv6", six)
	ownA.mu.Lock()
	defer ownA.mu.Unlock()
	if len(ownA.all) > 0 {
		t.Errorf("the sender received its own datagrams: %v", ownA.all)
	}
}

// The interface returns with the same name and another index, like an adapter that was unplugged.
// Then the link is opened again.
func TestAReturningInterfaceIsUsed(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	for _, number := range []string{"", "77", "78"} {
		if number != "" {
			for _, args := range [][]string{
				{"link", "del", "eth0"},
				{
					"link", "add", "eth0", "index", number, "type", "veth", "peer", "name", "eth0", "netns",
					n.Server.Name,
				},
				{"link", "set", "eth0", "up"},
				{"addr", "add", n.Client.V6.String() + "/64", "dev", "eth0", "nodad"},
			} {
				if _, err := n.Client.Run("ip", args...); err != nil {
					t.Fatal(err)
				}
			}
			for _, args := range [][]string{
				{"link", "set", "eth0", "up"},
				{"addr", "add", n.Server.V6.String() + "/64", "dev", "eth0", "nodad"},
			} {
				if _, err := n.Server.Run("ip", args...); err != nil {
					t.Fatal(err)
				}
			}
		}
		t.Run("number "+number, func(t *testing.T) {
			a, _ := open(t, n.Client, Config{Interface: "eth0"})
			_, b := open(t, n.Server, Config{Interface: "eth0"})
			testnet.Eventually(t, 10*time.Second, "the datagram over IPv6", func() bool {
				_ = a.Send([]byte("hello"), Families{Six: true})
				b.mu.Lock()
				defer b.mu.Unlock()
				return slices.ContainsFunc(b.all, func(s string) bool { return strings.Contains(s, ":") })
			})
		})
	}
}

func TestUnicastToPeers(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	peers := []netip.AddrPort{netip.AddrPortFrom(n.Server.V4, Port), netip.AddrPortFrom(n.Server.V6, Port)}
	a, _ := open(t, n.Client, Config{Peers: peers})
	// Without a listener an ICMP error comes back, which must not end the link.
	for range 3 {
		_ = a.Send([]byte("early"), Families{})
	}
	_, got := open(t, n.Server, Config{Peers: []netip.AddrPort{netip.AddrPortFrom(n.Client.V4, Port)}})
	testnet.Eventually(t, 5*time.Second, "both datagrams", func() bool {
		_ = a.Send([]byte("hello"), Families{})
		return got.has(n.Client.V4.String()+" hello") && got.has(n.Client.V6.String()+" hello")
	})
}

// An agent on eth0 does not receive a datagram that arrives by another interface.
func TestAnInterfaceKeepsOthersAway(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	for _, args := range [][]string{
		{"link", "add", "eth1", "type", "veth", "peer", "name", "eth1", "netns", n.Client.Name},
		{"link", "set", "eth1", "up"},
		{"addr", "add", "198.51.100.1/24", "dev", "eth1"},
	} {
		if _, err := n.Server.Run("ip", args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"link", "set", "eth1", "up"},
		{"addr", "add", "198.51.100.2/24", "dev", "eth1"},
	} {
		if _, err := n.Client.Run("ip", args...); err != nil {
			t.Fatal(err)
		}
	}
	other := netip.MustParseAddr("198.51.100.1")
	peers := []netip.AddrPort{netip.AddrPortFrom(other, Port), netip.AddrPortFrom(n.Server.V4, Port)}
	a, _ := open(t, n.Client, Config{Peers: peers})
	_, bound := open(t, n.Server, Config{Interface: "eth0"})
	testnet.Eventually(t, 30*time.Second, "the datagram on eth0", func() bool {
		_ = a.Send([]byte("hello"), Families{})
		return bound.has(n.Client.V4.String() + " hello")
	})
	// Each Send goes by eth1 first, so a datagram of the last one has arrived there.
	if bound.has("198.51.100.2 hello") {
		t.Error("an agent on eth0 received a datagram of eth1")
	}
}

func TestErrorsOfOpen(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	open(t, n.Client, Config{Interface: "eth0"})
	for _, c := range []struct {
		name   string
		config Config
		says   string
	}{
		{"no way to the others", Config{}, "neither an interface for multicast nor peers"},
		{"no such interface", Config{Interface: "wlan7"}, "interface wlan7"},
		{"a second agent", Config{Interface: "eth0"}, "is in use (another airtide share?)"},
	} {
		err := n.Client.Do(func() error {
			l, err := Open(c.config)
			if err == nil {
				_ = l.Close()
			}
			return err
		})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
	// A failed Open leaves no socket open.
	err := n.Client.Do(func() error {
		c, err := net.ListenUDP("udp4", &net.UDPAddr{Port: Port + 1})
		if err == nil {
			_ = c.Close()
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
