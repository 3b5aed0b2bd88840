package lab

import (
	"net/netip"
	"slices"
	"testing"

	"airtide/cell"
	"airtide/lab/plan"
)

// TestAnAgentsPeersAreTheOthersOrItsHub: the emulated cell carries no multicast.
func TestAnAgentsPeersAreTheOthersOrItsHub(t *testing.T) {
	host := func(name, address string) cell.Host {
		return cell.Host{Name: name, Address: netip.MustParseAddr(address)}
	}
	phone, tablet, server := host("phone", "10.1.0.1"), host("tablet", "10.1.0.2"), host("server", "10.2.0.1")
	hubs := map[string]cell.Host{"server": server}
	for _, c := range []struct {
		sharing plan.Sharing
		frames  int // of the longest aggregate
		want    []string
	}{
		{plan.Sharing{Policy: "shares"}, 64, []string{"--peer", "10.1.0.2"}},
		{plan.Sharing{Policy: "shares", Hub: "server", MaxRate: 25e6, Weight: 2}, 1, []string{"--peer", "10.2.0.1", "--max-rate", "25000000bit", "--single-frames", "--weight", "2"}},
		{plan.Sharing{Policy: "equal-cap", Capacity: 1e8}, 64, []string{"--peer", "10.1.0.2", "--capacity", "100000000bit"}},
	} {
		want := append([]string{"share", "run", "--key", "cell.key", "--policy", string(c.sharing.Policy), "--json"}, c.want...)
		terminal := plan.TerminalSetup{Share: c.sharing, Radio: plan.RadioSetup{Aggregation: plan.Aggregation{Frames: c.frames}}}
		if got := agentArguments("cell.key", phone, []cell.Host{phone, tablet}, hubs, terminal); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
