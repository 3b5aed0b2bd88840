//go:build kernel

package cwnd

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/kernel/tune"
	"airtide/internal/share/control"
	"airtide/internal/sys/clock"
	"airtide/test/testnet"
)

// Bounds and pauses are set and lifted, and they end without an extended lease.
func TestFlowsOfEveryFamilyAreBounded(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	if err := n.Client.Rate(200e6, 1<<20); err != nil {
		t.Fatal(err)
	}
	var flows []*net.TCPConn
	for _, d := range []testnet.Dial{
		{CongestionControl: "reno"},
		{CongestionControl: "reno", V6: true},
		{CongestionControl: "reno", Mapped: true},
	} {
		client, server := n.Connect(d)
		testnet.Stream(t, client, server)
		flows = append(flows, client)
	}
	h, err := Attach(t.Context(), tune.Selection{Filter: filter.Filter{NetNS: []uint32{n.Client.NetNS}}})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed {
			_ = h.Close()
		}
	}()
	now := func() time.Duration { return time.Duration(clock.Now()) }
	set := func(lease time.Duration, b control.SendBound) {
		t.Helper()
		var bounds []control.SendBound
		for _, f := range flows {
			b.Local = netip.MustParseAddrPort(f.LocalAddr().String())
			b.Remote = netip.MustParseAddrPort(f.RemoteAddr().String())
			bounds = append(bounds, b)
		}
		if err := h.ExtendLease(now() + lease); err != nil {
			t.Fatal(err)
		}
		if missing, err := h.Set(t.Context(), now(), bounds); err != nil || missing > 0 {
			t.Fatalf("%d flows are missing: %v", missing, err)
		}
	}
	all := func(what string, is func(packets uint32) bool) {
		t.Helper()
		testnet.Eventually(t, 3*time.Minute, what, func() bool {
			for _, f := range flows {
				if !is(testnet.Info(t, f).Snd_cwnd) {
					return false
				}
			}
			return true
		})
	}
	set(time.Hour, control.SendBound{Packets: 6})
	all("windows of 6 packets", func(packets uint32) bool { return packets <= 6 })
	set(time.Hour, control.SendBound{Packets: 6, Pause: true})
	all("windows of one packet", func(packets uint32) bool { return packets <= 1 })
	set(time.Hour, control.SendBound{Packets: 10, Least: 10})
	all("windows of 10 packets again", func(packets uint32) bool { return packets == 10 })
	set(100*time.Millisecond, control.SendBound{Packets: 6})
	all("windows beyond the bound when it is not renewed", func(packets uint32) bool { return packets > 14 })
	set(time.Hour, control.SendBound{Packets: 6})
	all("windows of 6 packets", func(packets uint32) bool { return packets <= 6 })
	if _, err := h.Set(t.Context(), now(), nil); err != nil {
		t.Fatal(err)
	}
	all("windows beyond the bound that was lifted", func(packets uint32) bool { return packets > 14 })
	closed = true
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range flows {
		if cc := testnet.CongestionControl(t, f); !strings.HasPrefix(cc, "reno") {
			t.Errorf("%s runs %s afterwards", f.LocalAddr(), cc)
		}
	}
}
