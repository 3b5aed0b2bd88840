package conn_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"airtide/internal/packets/conn"
)

// Flows are found by their ends and times. The order in which they were added does not matter.
func TestFlowsAreFoundByTime(t *testing.T) {
	ends := conn.EndsOf(netip.MustParseAddrPort("[::ffff:10.0.0.1]:4000"), netip.MustParseAddrPort("10.0.0.2:80"))
	var flows conn.Flows[int]
	order := rand.New(rand.NewPCG(1, 2)).Perm(100)
	for _, i := range order[:50] {
		flows.Add(ends, int64(10*(i+1)), i+1)
	}
	flows.Around(ends, 1) // flows may follow later
	for _, i := range order[50:] {
		flows.Add(ends, int64(10*(i+1)), i+1)
	}
	mapped := conn.EndsOf(netip.MustParseAddrPort("10.0.0.1:4000"), netip.MustParseAddrPort("10.0.0.2:80"))
	for ns, want := range map[int64][2]int{
		9: {0, 1}, 10: {1, 2}, 499: {49, 50}, 500: {50, 51}, 1000: {100, 0}, 5000: {100, 0},
	} {
		if until, later := flows.Around(mapped, ns); !slices.Equal([]int{until, later}, want[:]) {
			t.Errorf("%d ns: flows %d and %d, want %v", ns, until, later, want)
		}
	}
	if until, later := flows.Around(mapped.Reversed(), 500); until != 0 || later != 0 {
		t.Errorf("the other end has flows %d and %d", until, later)
	}
}
