package run

import (
	"net/netip"
	"slices"
	"testing"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
)

// TestAnAgentsPeersAreTheOthersOrItsHub: the emulated cell carries no multicast.
func TestAnAgentsPeersAreTheOthersOrItsHub(t *testing.T) {
	of := func(name, address string) machine.Machine {
		return machine.NewNamespace(name, "", netip.MustParseAddr(address))
	}
	phone, tablet, server := of("phone", "10.1.0.1"), of("tablet", "10.1.0.2"), of("server", "10.2.0.1")
	a := &agents{machines: &machines{namespaces: machine.Set{phone, tablet, server}}}
	for _, c := range []struct {
		sharing plan.Sharing
		frames  int // of the longest aggregate
		want    []string
	}{
		{plan.Sharing{Policy: "shares"}, 64, []string{"--peer", "10.1.0.2"}},
		{
			plan.Sharing{Policy: "shares", Hub: "server", MaxRate: 25e6, Weight: 2},
			1,
			[]string{"--peer", "10.2.0.1", "--max-rate", "25000000bit", "--single-frames", "--weight", "2"},
		},
		{plan.Sharing{Policy: "shares", Alpha: "inf"}, 64, []string{"--peer", "10.1.0.2", "--alpha", "inf"}},
		{
			plan.Sharing{Policy: "equal-cap", Capacity: 1e8},
			64,
			[]string{"--peer", "10.1.0.2", "--capacity", "100000000bit"},
		},
	} {
		want := append(
			[]string{"share", "run", "--key", "cell.key", "--policy", string(c.sharing.Policy), "--json"},
			c.want...,
		)
		radio := plan.RadioSetup{Aggregation: plan.Aggregation{Frames: c.frames}}
		terminal := plan.TerminalSetup{Share: c.sharing, Radio: radio}
		peers := a.peers(phone, machine.Set{phone, tablet}, c.sharing.Hub)
		if got := agentArguments("cell.key", terminal, peers); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
