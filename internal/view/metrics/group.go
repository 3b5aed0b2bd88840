package metrics

import (
	"cmp"
	"net/netip"
	"slices"

	"airtide/internal/diagnose"
	"airtide/internal/stats"
	"airtide/internal/sys/metrics"
	"airtide/internal/tcp"
	"airtide/internal/units"
)

const (
	// maxGroups bounds the number of pairs of process and peer. Further pairs are summed up in one
	// group of their own.
	maxGroups = 200
	// rest is the process and the peer of that group.
	rest = "other"
	// A peer is a network, so that a server with many clients has few.
	prefixV4 = 24
	prefixV6 = 48
)

// name identifies a group.
type name struct {
	process string
	peer    string
}

// nameOf returns the group of a flow.
func nameOf(f *tcp.Flow) name {
	return name{cmp.Or(units.Printable(f.Comm), "unknown"), peerOf(f.Remote.Addr())}
}

// peerOf returns the network of a peer.
func peerOf(a netip.Addr) string {
	bits := prefixV6
	a = a.Unmap().WithZone("")
	if a.Is4() {
		bits = prefixV4
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return "unknown"
	}
	return p.String()
}

// group sums up the flows of a process with the hosts of a network. All but connections only grow.
type group struct {
	connections    int
	opened         int64
	closed         map[tcp.Reason]int64
	sent, received int64 // bytes
	retransmits    [numTypes]int64
	counted        int64 // retransmitted segments by the kernel's count
	zeroWindows    int64
	rtt            stats.Sketch // µs, of the present window
	lastRTT        stats.Sketch // RTTs of the window before
	limited        map[diagnose.Limit]float64
}

func newGroup() *group {
	return &group{
		closed: map[tcp.Reason]int64{}, limited: map[diagnose.Limit]float64{}, rtt: stats.NewSketch(),
		lastRTT: stats.NewSketch(),
	}
}

// quantiles are those of the RTT that are published.
var quantiles = []struct {
	share float64
	label string
}{{0.5, "0.5"}, {0.95, "0.95"}}

// points returns the points of a group. Values that are unknown, and labels without a count, are
// left out.
func (g *group) points(n name, minRttUs int64) []metrics.Point {
	var list []metrics.Point
	add := func(m *metrics.Metric, value float64, labels ...string) {
		list = append(list, metrics.Point{Metric: m, Of: append([]string{n.process, n.peer}, labels...), Value: value})
	}
	add(connections, float64(g.connections))
	add(opened, float64(g.opened))
	for reason, count := range g.closed {
		add(closed, float64(count), reason.String())
	}
	add(moved, float64(g.sent), "transmit")
	add(moved, float64(g.received), "receive")
	counts := g.retransmits
	var caused int64
	for t, count := range counts {
		if retransmitType(t) != typeSpurious {
			caused += count
		}
	}
	counts[typeOther] += max(0, g.counted-caused) // without an event
	g.retransmits[typeOther] = counts[typeOther]
	for t, count := range counts {
		add(retransmits, float64(count), typeNames[t])
	}
	add(flowControl, float64(g.zeroWindows), "zero_window")
	recent := stats.NewSketch()
	recent.Merge(&g.rtt)
	recent.Merge(&g.lastRTT)
	if _, _, ok := recent.Extremes(); ok {
		for _, q := range quantiles {
			add(rtt, seconds(recent.Quantiles(q.share)[0]), q.label)
		}
	}
	if minRttUs > 0 {
		add(minRTT, seconds(minRttUs))
	}
	for limit, time := range g.limited {
		add(limited, time, limit.String())
	}
	return list
}

func seconds(us int64) float64 { return float64(us) / 1e6 }

// sortedNames returns the names of groups in their order.
func sortedNames(groups map[name]*group) []name {
	var list []name
	for n := range groups {
		list = append(list, n)
	}
	slices.SortFunc(list, func(a, b name) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.peer, b.peer))
	})
	return list
}
