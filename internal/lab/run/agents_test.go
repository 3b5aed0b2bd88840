package run

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airtide/internal/cell"
	"airtide/internal/lab/plan"
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
		{plan.Sharing{Policy: "shares", Alpha: "inf"}, 64, []string{"--peer", "10.1.0.2", "--alpha", "inf"}},
		{plan.Sharing{Policy: "equal-cap", Capacity: 1e8}, 64, []string{"--peer", "10.1.0.2", "--capacity", "100000000bit"}},
	} {
		want := append([]string{"share", "run", "--key", "cell.key", "--policy", string(c.sharing.Policy), "--json"}, c.want...)
		terminal := plan.TerminalSetup{Share: c.sharing, Radio: plan.RadioSetup{Aggregation: plan.Aggregation{Frames: c.frames}}}
		if got := agentArguments("cell.key", phone, []cell.Host{phone, tablet}, hubs, terminal); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheLastLineOfAFileThatGrows(t *testing.T) {
	name := filepath.Join(t.TempDir(), "agent.jsonl")
	long := strings.Repeat("x", 1<<17)
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"half", ""}, {"one\n", "one"}, {"one\ntwo\nhal", "two"}, {long + "\n" + long + "\n" + "half", long}, {long + "\n", long}, {long, ""}, {"one\n\n", ""},
	} {
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if line, err := lastLine(name); err != nil || string(line) != c.want {
			t.Errorf("of %d bytes %d (%v), want %d", len(c.text), len(line), err, len(c.want))
		}
	}
}
