//go:build kernel

package machine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/plan"
	"airtide/test/testnet"
)

// of returns the machine of a host of the test's network.
func of(h *testnet.Host) *Namespace { return NewNamespace(h.Name, h.Name, h.V4) }

func TestTheStackIsTheOneOfThePlan(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	allowed, err := readSysctl(allowedPath)
	if err != nil {
		t.Fatal(err)
	}
	missing, err := of(n.Client).ApplyStack(t.Context(), plan.Stack{
		Congestion:    "cubic",
		ReceiveBuffer: plan.Buffer{Min: 4095, Default: 87380, Max: 110208},
		SendBuffer:    plan.Buffer{Min: 4096, Default: 16384, Max: 110208},
		InitialWindow: 3,
		Sysctls: map[string]string{
			"net.ipv4.tcp_sack": "0", "net.ipv4.ip_local_port_range": "40000  50000",
			"-net.ipv4.tcp_window_scaling": "0", "-net.ipv4.tcp_nonsense": "1",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(missing, []string{"net.ipv4.tcp_nonsense"}) {
		t.Errorf("%q is missing", missing)
	}
	state, err := of(n.Client).ReadState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"net.ipv4.tcp_congestion_control": "cubic",
		"net.ipv4.tcp_rmem":               "4095 87380 110208",
		"net.ipv4.tcp_wmem":               "4096 16384 110208",
		"net.ipv4.tcp_sack":               "0",
		"net.ipv4.tcp_window_scaling":     "0",
		"net.ipv4.ip_local_port_range":    "40000 50000",
	} {
		if state.Sysctls[name] != want {
			t.Errorf("%s is %q, want %q", name, state.Sysctls[name], want)
		}
	}
	if len(state.Routes) != 2 || state.Routes[0].To != "10.77.0.0/24" || state.Routes[1].To != "fd77::/64" {
		t.Errorf("routes %+v, want those of IPv4 and IPv6", state.Routes)
	}
	for _, r := range state.Routes {
		if r.InitialWindow != 3 || r.Device != "eth0" {
			t.Errorf("route %+v, want initcwnd 3 on eth0", r)
		}
	}
	if now, err := readSysctl(allowedPath); err != nil || now != allowed {
		t.Errorf("allowed congestion controls are %q (%v) afterwards, want %q", now, err, allowed)
	}
	// A connection has what was asked for, by either family.
	for _, v6 := range []bool{false, true} {
		client, _ := n.Connect(testnet.Dial{V6: v6})
		congestion := testnet.CongestionControl(t, client)
		window := testnet.Info(t, client).Snd_cwnd
		if congestion != "cubic" || window != 3 {
			t.Errorf("IPv6 %v: a connection begins with %s and a window of %d, want cubic and 3", v6, congestion,
				window)
		}
	}
}

func TestMachinesDoNotShareAStack(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	before, err := of(n.Server).ReadState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := of(n.Client).ApplyStack(
		t.Context(), plan.Stack{Congestion: "reno", Sysctls: map[string]string{"net.ipv4.tcp_timestamps": "0"}},
	); err != nil {
		t.Fatal(err)
	}
	after, err := of(n.Server).ReadState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range before.Sysctls {
		if after.Sysctls[name] != value {
			t.Errorf("%s of the other machine went from %q to %q", name, value, after.Sysctls[name])
		}
	}
}

func TestSettingsThatCannotBeAppliedAreNamed(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	one := func(name, value string) plan.Stack { return plan.Stack{Sysctls: map[string]string{name: value}} }
	for _, c := range []struct {
		name  string
		stack plan.Stack
		want  []string
	}{
		{
			"an unknown congestion control",
			plan.Stack{Congestion: "compound"},
			[]string{"no congestion control compound", "it has", "reno", "cubic"},
		},
		{
			"an optional one's value out of range", one("-net.ipv4.tcp_timestamps", "777"),
			[]string{"net.ipv4.tcp_timestamps", `"777"`, "refuses"},
		},
		{"an unknown sysctl", one("net.ipv4.tcp_nonsense", "1"), []string{"no sysctl net.ipv4.tcp_nonsense"}},
		{
			"one that is not per namespace", one("net.ipv4.tcp_mem", "1 2 3"),
			[]string{"net.ipv4.tcp_mem", "not per network namespace"},
		},
		{
			"one that can only be read", one("net.core.rmem_max", "1000000"),
			[]string{"net.core.rmem_max", "whole computer"},
		},
		{"one that is not of the network", one("vm.swappiness", "1"), []string{"vm.swappiness", "whole computer"}},
		{"a way out", one("net/../vm/swappiness", "1"), []string{"is not the name of a sysctl"}},
		{"no name", one("tcp_sack", "1"), []string{"is not the name of a sysctl"}},
		{"a folder", one("net.ipv4.conf", "1"), []string{"folder"}},
		{
			"a value out of range", one("net.ipv4.tcp_timestamps", "777"),
			[]string{"net.ipv4.tcp_timestamps", `"777"`, "refuses"},
		},
		{"a value of another kind", one("net.ipv4.tcp_sack", "yes"), []string{"net.ipv4.tcp_sack", "refuses"}},
		{"a value that is cut", one("net.ipv4.tcp_sack", "1 1"), []string{"net.ipv4.tcp_sack"}},
		{
			"a buffer without bytes",
			plan.Stack{SendBuffer: plan.Buffer{Min: 0, Default: 1, Max: 2}},
			[]string{"net.ipv4.tcp_wmem"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := of(n.Client).ApplyStack(t.Context(), c.stack)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range append(c.want, n.Client.Name) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

func TestOnlyAMachineOfItsOwnIsEntered(t *testing.T) {
	never := func() error { t.Error("called"); return nil }
	for _, name := range []string{"", ".", "..", "../run/netns", "airtide-not-there"} {
		if err := In(name, never); err == nil {
			t.Errorf("entered %q", name)
		}
	}
	// The computer's own namespace under a name, as `ip netns attach` makes it.
	path := filepath.Join(namespaceFolder, "airtide-test-own")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
	if err := unix.Mount(ownNamespace, path, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	if err := In("airtide-test-own", never); err == nil || !strings.Contains(err.Error(), "the computer's own") {
		t.Errorf("entering the computer's own namespace: %v", err)
	}
}

func TestTheStateHasTheSettingsOfTheWholeComputer(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	state, err := of(n.Client).ReadState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if state.Computer["net.ipv4.tcp_mem"] == "" || state.Sysctls["net.ipv4.tcp_mem"] != "" {
		t.Errorf("tcp_mem is %q of the computer and %q of the machine", state.Computer["net.ipv4.tcp_mem"],
			state.Sysctls["net.ipv4.tcp_mem"])
	}
	for name := range state.Sysctls {
		if strings.Contains(name, "_key") {
			t.Errorf("the state has the secret %s", name)
		}
	}
}
