//go:build kernel

package share

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/hub"
	"airtide/internal/share/link"
	"airtide/test/testnet"
)

// runHub runs a hub at a host until stop is called, or the test ends.
func runHub(t *testing.T, h *testnet.Host, key cellkey.Key, port uint16) (stop func()) {
	t.Helper()
	var at *hub.Hub
	if err := h.Do(func() (err error) {
		at, err = hub.Open(hub.Config{Keys: []cellkey.Pair{{New: key}}, Listen: netip.AddrPortFrom(netip.Addr{}, port)})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- at.Run(ctx) }()
	done := false
	stop = func() {
		if done {
			return
		}
		done = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := at.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// Terminals reach each other only through a hub. They lift their bounds when it stops and share
// again when another hub runs at its address.
func TestARestartedHubRestoresBounds(t *testing.T) {
	const port = 4799
	n, client, _ := narrow(t)
	key := cellkey.New()
	by := link.Config{Peers: []netip.AddrPort{netip.AddrPortFrom(n.Server.V4, port)}}
	stop := runHub(t, n.Server, key, port)
	a := run(t, n.Client, Config{Key: key, Policy: control.Shares, MaxBps: lowRate, Link: by})
	b := run(t, n.Server, Config{Key: key, Policy: control.Observe, MaxBps: lowRate, Link: by})
	testnet.Eventually(t, longEnough, "a bound", func() bool { return bound(a.now()) && len(b.now().Peers) == 1 })
	began := time.Now()
	stop()
	inTime(t, began, "no bounds", func() bool { return !a.now().Bounded && len(a.now().Windows) == 0 })
	freed(t, began, "the hub has gone", func() uint32 { return testnet.Info(t, client).Snd_cwnd })
	runHub(t, n.Server, key, port)
	testnet.Eventually(t, longEnough, "the bound to come back", func() bool { return bound(a.now()) })
}
