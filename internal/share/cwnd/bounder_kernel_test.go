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
	set(time.Hour, control.SendBound{Packets: 3})
	all("windows of 3 packets", func(packets uint32) bool { return packets > 1 && packets <= 3 })
	set(time.Hour, control.SendBound{Packets: 1})
	all("windows of one packet, as their bound", func(packets uint32) bool { return packets <= 1 })
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

// Programs choose another congestion control before and after they connect, before and after the
// agent begins, and again while it runs. All flows are bounded, and at the end each has what its
// program has chosen last.
func TestFlowsAreBoundedWhateverTheirProgramsChoose(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	if err := n.Client.Rate(200e6, 1<<20); err != nil {
		t.Fatal(err)
	}
	names := []string{"cubic", "reno", "bbr"}
	chosen := map[*net.TCPConn]string{}
	connect := func(name string, before bool) *net.TCPConn {
		t.Helper()
		dial := testnet.Dial{}
		if before {
			dial.CongestionControl = name
		}
		client, server := n.Connect(dial)
		if !before {
			testnet.SetCongestionControl(t, client, name)
		}
		testnet.Stream(t, client, server)
		chosen[client] = name
		return client
	}
	for _, name := range names {
		connect(name, true)
		connect(name, false)
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
	for _, name := range names {
		connect(name, true)
		connect(name, false)
	}
	bounded := func(what string) {
		t.Helper()
		testnet.Eventually(t, time.Minute, what, func() bool {
			now := time.Duration(clock.Now())
			var bounds []control.SendBound
			for f := range chosen {
				bounds = append(bounds, control.SendBound{
					Local: netip.MustParseAddrPort(f.LocalAddr().String()), Packets: 6,
					Remote: netip.MustParseAddrPort(f.RemoteAddr().String()),
				})
			}
			if err := h.ExtendLease(now + time.Second); err != nil {
				t.Fatal(err)
			}
			missing, err := h.Set(t.Context(), now, bounds)
			if err != nil {
				t.Fatal(err)
			}
			for f := range chosen {
				if testnet.Info(t, f).Snd_cwnd > 6 {
					return false
				}
			}
			return missing == 0 && len(h.Unbound()) == 0
		})
	}
	bounded("windows of 6 packets of all")
	for f, name := range chosen {
		other := map[string]string{"cubic": "bbr", "reno": "cubic", "bbr": "reno"}[name]
		testnet.SetCongestionControl(t, f, other)
		chosen[f] = other
	}
	bounded("windows of 6 packets of all again")
	closed = true
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	for f, name := range chosen {
		if cc := testnet.CongestionControl(t, f); cc != name {
			t.Errorf("a program has chosen %s, and has %s afterwards", name, cc)
		}
	}
}
