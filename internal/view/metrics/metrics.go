// Package metrics sums up live connections by process and peer for Prometheus and OpenTelemetry.
package metrics

import (
	"airtide/internal/sys/metrics"
	"airtide/internal/tcp"
)

// The labels that most metrics have.
var byGroup = []string{"process", "peer"}

func of(more ...string) []string { return append(byGroup[:len(byGroup):len(byGroup)], more...) }

// The metrics. Names that OpenTelemetry has or proposes (semantic-conventions #3682) begin with
// "system.network", labels of it with "network". Prometheus gets underscores and units.
var (
	connections = &metrics.Metric{
		Name: "airtide.tcp.connections", Unit: "{connection}", Help: "Open TCP connections.", Labels: byGroup,
	}
	opened = &metrics.Metric{
		Name: "airtide.tcp.opened", Unit: "{connection}", Help: "TCP connections that were opened.", Labels: byGroup,
		Counter: true,
	}
	closed = &metrics.Metric{
		Name: "airtide.tcp.closed", Unit: "{connection}", Help: "TCP connections that ended, by reason.",
		Labels: of("reason"), Counter: true,
	}
	moved = &metrics.Metric{
		Name: "airtide.tcp.io", Unit: "By", Help: "Payload that was acknowledged, or received in order.",
		Labels: of("network.io.direction"), Counter: true,
	}
	retransmits = &metrics.Metric{
		Name: "system.network.tcp.retransmits", Unit: "{segment}",
		Help:   "Segments sent again, by type. A spurious one also counts with the type of its cause.",
		Labels: of("network.tcp.retransmit.type"), Counter: true,
	}
	flowControl = &metrics.Metric{
		Name: "system.network.tcp.flow_control.events", Unit: "{event}",
		Help:   "Times that a peer closed its window.",
		Labels: of("network.tcp.flow_control.event"), Counter: true,
	}
	rtt = &metrics.Metric{
		Name: "airtide.tcp.rtt", Unit: "s", Help: "Quantiles of the RTT in the last 10 to 20 seconds.",
		Labels: of("quantile"),
	}
	minRTT = &metrics.Metric{
		Name: "airtide.tcp.min_rtt", Unit: "s", Help: "Smallest RTT of the open connections.", Labels: byGroup,
	}
	limited = &metrics.Metric{
		Name: "airtide.tcp.limited", Unit: "s",
		Help:   "Time of connections by the limit of their rate. It grows every 10 seconds.",
		Labels: of("limit"), Counter: true,
	}
	lost = &metrics.Metric{
		Name: "airtide.monitor.lost_records", Unit: "{record}",
		Help: "Records of the kernel that were lost: other metrics lack them.", Counter: true,
	}
	untracked = &metrics.Metric{
		Name: "airtide.monitor.untracked_flows", Unit: "{connection}",
		Help: "Connections that the kernel's table had no room for.", Counter: true,
	}

	all = []*metrics.Metric{
		connections, opened, closed, moved, retransmits, flowControl, rtt, minRTT, limited, lost, untracked,
		radioRate, radioSignal, radioPackets, radioChannel, radioEvents,
	}
)

// retransmitType is a value of network.tcp.retransmit.type.
type retransmitType int

const (
	typeFast retransmitType = iota
	typeProbe
	typeTimeout
	typeSpurious
	typeOther
	numTypes
)

// typeNames are OpenTelemetry's. "_OTHER" is its name for values beside the list.
var typeNames = [numTypes]string{"fast", "tail_loss_probe", "timeout", "spurious", "_OTHER"}

// typeOf maps a cause.
func typeOf(c tcp.Cause) retransmitType {
	switch c {
	case tcp.CauseFast, tcp.CauseRACKTimer:
		return typeFast
	case tcp.CauseTLP:
		return typeProbe
	case tcp.CauseRTO, tcp.CauseRTORecovery, tcp.CauseSYN:
		return typeTimeout
	}
	return typeOther
}
