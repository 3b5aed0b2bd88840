package run

import (
	"net/netip"
	"reflect"
	"testing"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/share"
	"airtide/internal/share/link"
)

// TestAnAgentsPeersAreTheOthersOrItsHub: the emulated cell carries no multicast.
func TestAnAgentsPeersAreTheOthersOrItsHub(t *testing.T) {
	of := func(name, address string) machine.Machine {
		return machine.NewNamespace(name, "", netip.MustParseAddr(address))
	}
	phone := of("phone", "10.1.0.1")
	tablet := of("tablet", "10.1.0.2")
	server := of("server", "10.2.0.1")
	a := &agents{machines: &machines{namespaces: machine.Set{phone, tablet, server}}}
	for _, c := range []struct {
		sharing plan.Sharing
		frames  int // of the longest aggregate
		want    share.Flags
	}{
		{plan.Sharing{Policy: "shares"}, 64, share.Flags{Peers: []string{"10.1.0.2"}, Weight: 1, Index: 0.99}},
		{
			plan.Sharing{Policy: "shares", Hub: "server", MaxRate: 25e6, Weight: 2},
			1,
			share.Flags{Peers: []string{"10.2.0.1"}, MaxRate: 25e6, SingleFrames: true, Weight: 2, Index: 0.99},
		},
		{
			plan.Sharing{Policy: "shares", Alpha: "inf", Index: 0.98},
			64,
			share.Flags{Peers: []string{"10.1.0.2"}, Weight: 1, Alpha: "inf", Index: 0.98},
		},
		{
			plan.Sharing{Policy: "equal-cap", Capacity: 1e8},
			64,
			share.Flags{Peers: []string{"10.1.0.2"}, Capacity: 1e8, Weight: 1, Index: 0.99},
		},
	} {
		want := c.want
		want.Key = "cell.key"
		want.Policy = string(c.sharing.Policy)
		want.Port = link.Port
		want.Source = "auto"
		want.JSON = true
		radio := plan.RadioSetup{Aggregation: plan.Aggregation{Frames: c.frames}}
		terminal := plan.TerminalSetup{Share: c.sharing, Radio: radio}
		peers := a.peers(phone, machine.Set{phone, tablet}, c.sharing.Hub)
		if got := agentFlags("cell.key", terminal, peers); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
