package plan

import (
	"maps"
	"slices"
	"strings"
)

// Measurement is a measured figure of each run.
type Measurement struct {
	Quantity  Quantity `json:"quantity" jsonschema:"Quantity to measure."`
	Flows     Names    `json:"flows,omitzero" jsonschema:"Flows to measure. Default: all whose protocol has the quantity."`
	Terminals Names    `json:"terminals,omitzero" jsonschema:"Terminals or groups to measure. Default: all."`
	From      Duration `json:"from,omitzero" jsonschema:"Start of the measured time, from the start of the run; for goodput and quantities made of it. Default: the end of the warm-up."`
	To        Duration `json:"to,omitzero" jsonschema:"End of the measured time, from the start of the run; for goodput and quantities made of it. Default: the end of the run."`
	Take      Take     `json:"take,omitzero" jsonschema:"How to combine the values of flows or terminals: each (not at all), sum, mean (default), median, min, max or jain (Jain's index)."`
}

// Unit returns the unit of the measured quantity, empty for plain numbers.
func (m Measurement) Unit() string {
	if m.Take == Jain {
		return ""
	}
	return m.Quantity.Unit()
}

// Quantity is a quantity that can be measured.
type Quantity string

// quantities lists each quantity with its unit and its subject: a flow, a terminal or the cell. A
// terminal's quantity describes its radio. A flow's rate is counted at the exit of the cell or
// path.
var quantities = []struct {
	name, unit, of, says string
}{
	{"goodput", "Mbit/s", "flow", "payload delivered, as packets leave cell and path"},
	{"goodput_peak", "Mbit/s", "flow", "greatest goodput over half a second"},
	{
		"part_of_max", "", "flow",
		"goodput over what the terminal's radio reaches alone (share.max_rate): the sum of these is the airtime " +
			"that they need",
	},
	{
		"part_of_alone", "", "flow",
		"goodput over what the terminal reaches alone with this wire, the lesser of share.max_rate and what TCP " +
			"gets out of the wire: Jain's index of these is the improved one of Matsuno et al. 2021",
	},
	{"reported_rate", "Mbit/s", "flow", "rate that the tool reports"},
	{"share", "", "flow", "goodput over the fair share of all flows' goodput, by connections: 1 is fair"},
	{"completion_time", "s", "flow", "mean time of one transfer"},
	{"transfers", "", "flow", "transfers completed"},
	{"datagram_loss", "%", "flow", "datagrams lost, by the tool"},
	{"ping_rtt", "ms", "flow", "median of ping"},
	{"srtt", "ms", "flow", "mean of the sender's smoothed RTT, from the kernel"},
	{"rtt_p95", "ms", "flow", "95th percentile of the sender's RTT over its acknowledgements, from the kernel"},
	{"cwnd", "packets", "flow", "mean congestion window, from the kernel"},
	{"max_cwnd", "packets", "flow", "greatest congestion window, from the kernel"},
	{"end_cwnd", "packets", "flow", "congestion window at the end, from the kernel"},
	{"cwnd_kept", "%", "flow", "what fast recovery leaves of the congestion window, mean over losses, from the kernel"},
	{
		"ca_state", "", "flow",
		"congestion state, mean over time: 0 open, else the codes 1 to 4 of Matsuno et al. 2021, from the kernel",
	},
	{"cubic_k", "s", "flow", "mean of CUBIC's K, from the kernel"},
	{"send_window", "kB", "flow", "mean window that the receiver advertises, from the kernel"},
	{
		"rwnd_limited", "%", "flow",
		"share of the sender's busy time in which the receiver's window held it, from the kernel",
	},
	{
		"sndbuf_limited", "%", "flow",
		"share of the sender's busy time in which its send buffer held it, from the kernel",
	},
	{"retransmits", "packets", "flow", "segments sent again, from the kernel"},
	{"reordering", "", "flow", "code 1 of Matsuno et al. 2021, from the kernel"},
	{"local_congestion", "", "flow", "code 2 of Matsuno et al. 2021, from the kernel"},
	{"duplicate_acks", "", "flow", "code 3 of Matsuno et al. 2021: duplicate ACK or SACK, from the kernel"},
	{"timeouts", "", "flow", "code 4 of Matsuno et al. 2021, from the kernel"},
	{"airtime", "%", "terminal", "share of the run in which the terminal's or its downlink's frames held the medium"},
	{"collisions", "%", "terminal", "share of its attempts"},
	{"aggregation", "frames", "terminal", "mean MPDUs of its PPDUs"},
	{"queue", "packets", "terminal", "mean length of its transmit queue"},
	{"ap_queue", "packets", "terminal", "mean of what waits for it in the access point"},
	{"ap_sojourn", "ms", "terminal", "median time of its packets in the access point's queue"},
	{"ap_drops", "packets", "terminal", "its packets dropped at the access point"},
	{"tcp_errors", "", "terminal", "all of the next five together"},
	{"tcp_retransmits", "packets", "terminal", "segments sent again, by its kernel's counter RetransSegs"},
	{"tcp_timeouts", "", "terminal", "retransmission timeouts, by TCPTimeouts"},
	{"tcp_duplicates", "packets", "terminal", "segments that the peer had already, by TCPDSACKRecv"},
	{"tcp_recoveries", "", "terminal", "fast recoveries, by TCPSackRecovery and TCPRenoRecovery"},
	{"tcp_failed_retransmits", "packets", "terminal", "segments that could not be sent again, by TCPRetransFail"},
	{"tcp_spurious_timeouts", "", "terminal", "timeouts that were undone: by TCPLossUndo and TCPSpuriousRTOs"},
	{"tcp_probes", "packets", "terminal", "tail loss probes, by TCPLossProbes"},
	{"tcp_syn_retransmits", "packets", "terminal", "SYN segments sent again, by TCPSynRetrans"},
	{
		"distance", "nats", "cell",
		"distance of the terminals' goodput from the proportionally fair optimum, by share.max_rate and what " +
			"TCP gets out of the wire",
	},
	{
		"ap_backlog_p95", "packets", "cell",
		"95th percentile of what waits in the access point, of its means over record.interval",
	},
}

func (*Quantity) choices() []string {
	names := make([]string, len(quantities))
	for i, q := range quantities {
		names[i] = q.name
	}
	return names
}

// Unit returns the unit of the quantity; empty for plain numbers.
func (q Quantity) Unit() string { return quantities[q.index()].unit }

// OfFlows reports whether the quantity describes flows.
func (q Quantity) OfFlows() bool { return quantities[q.index()].of == "flow" }

// OfCell reports whether the quantity describes the whole cell and so has one value.
func (q Quantity) OfCell() bool { return quantities[q.index()].of == "cell" }

// ofGoodput are the quantities that follow from goodput, so any part of a run has them.
var ofGoodput = []Quantity{"goodput", "goodput_peak", "part_of_max", "part_of_alone", "share", "distance"}

// overMax lists the quantities that need the rate of each terminal alone.
var overMax = []Quantity{"part_of_max", "part_of_alone", "distance"}

func (q *Quantity) index() int { return max(0, slices.Index(q.choices(), string(*q))) }

// Suits reports whether flows of a protocol have the quantity.
func (q Quantity) Suits(p Protocol) bool {
	switch q {
	case "goodput", "goodput_peak", "share", "part_of_max", "part_of_alone":
		return p != Ping
	case "reported_rate":
		return p == TCP || p == UDP
	case "completion_time", "transfers":
		return p == HTTPPut || p == HTTPGet || p == Transfers || p == Web
	case "datagram_loss":
		return p == UDP
	case "ping_rtt":
		return p == Ping
	}
	return p != UDP && p != Ping // the kernel's quantities of TCP
}

// kernelQuantities lists the quantities that need the kernel recording of the flow's sender.
var kernelQuantities = []Quantity{
	"srtt", "rtt_p95", "cwnd", "max_cwnd", "end_cwnd", "cwnd_kept", "ca_state", "cubic_k", "send_window",
	"rwnd_limited",
	"sndbuf_limited", "retransmits", "reordering", "local_congestion", "duplicate_acks", "timeouts",
}

// timeSeries lists the quantities that also have a time series.
var timeSeries = []Quantity{"goodput", "srtt", "cwnd", "ca_state", "cubic_k", "send_window"}

// HasTimeSeries reports whether a run has a time series of the quantity, which a timeline can show.
func (q Quantity) HasTimeSeries() bool { return slices.Contains(timeSeries, q) }

// FromKernel reports whether the quantity comes from the kernel recording.
func (q Quantity) FromKernel() bool { return slices.Contains(kernelQuantities, q) }

// Take selects how the values of several flows or terminals are combined.
type Take string

// The ways to combine values.
const (
	Each   Take = "each"
	Sum    Take = "sum"
	Mean   Take = "mean"
	Median Take = "median"
	Min    Take = "min"
	Max    Take = "max"
	Jain   Take = "jain"
)

func (*Take) choices() []string {
	return []string{string(Each), string(Sum), string(Mean), string(Median), string(Min), string(Max), string(Jain)}
}

// Claim is an expected property of the results.
type Claim struct {
	Says  string `json:"says" jsonschema:"The statement of the source."`
	Where string `json:"where,omitzero" jsonschema:"Place in the source, such as a section."`
	Holds string `json:"holds" jsonschema:"An expression over measurements, such as: mean(at(goodput, {rtt: \"16 ms\"})) > 10"`
}

// Figure describes a picture of measurements.
type Figure struct {
	Kind       FigureKind  `json:"kind" jsonschema:"lines, bars, scatter, or timeline: measurements over the time of one run, the first finished run of a point."`
	Title      string      `json:"title,omitzero" jsonschema:"Title of the figure."`
	X          string      `json:"x,omitzero" jsonschema:"Swept parameter on the x axis; for scatter also a measurement; none for timeline."`
	Y          Names       `json:"y,omitzero" jsonschema:"Measurements on the y axis, with error bars; for timeline only goodput, srtt, cwnd, ca_state, cubic_k and send_window. Required without plot."`
	Plot       PlotKind    `json:"plot,omitzero" jsonschema:"timeline: a figure of airtide plot (from a flow's recording) or of airtide packets (from its capture), in place of y."`
	Series     Names       `json:"series,omitzero" jsonschema:"Swept parameters with a line or bar for each value. Default: all except x and those in at."`
	Of         Names       `json:"of,omitzero" jsonschema:"timeline: only these flows, by their names in results. Default: all flows of the measurement."`
	RelativeTo PointFilter `json:"relative_to,omitzero" jsonschema:"scatter: show the gain over the runs with these values of swept parameters. y is divided by the mean of these runs; a measurement x is the mean of these runs."`
	At         PointFilter `json:"at,omitzero" jsonschema:"Only runs with these values of swept parameters, like at() in a claim."`
}

// PlotKind is a figure of package plot, of a recording or of a capture.
type PlotKind string

// PlotKinds lists the figures of package plot.
func PlotKinds() []string { return (*PlotKind)(nil).choices() }

func (*PlotKind) choices() []string {
	return []string{
		"cwnd", "rtt", "queues", "rates", "windows", "cubic", "bbr", "sequence", "overview",
		"packets", "ack-time", "flight",
	}
}

// OfCapture reports whether the figure is drawn from captured packets, and not from a recording.
func (k PlotKind) OfCapture() bool { return k == "packets" || k == "ack-time" || k == "flight" }

// PointFilter selects points by the values of swept parameters.
type PointFilter map[string]string

// String lists the values in the order of the parameters' names.
func (p PointFilter) String() string {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		values = append(values, p[name])
	}
	return strings.Join(values, ", ")
}

// FigureKind is the type of a figure.
type FigureKind string

// Timeline is a figure over the time of a run.
const Timeline FigureKind = "timeline"

func (*FigureKind) choices() []string { return []string{"lines", "bars", "scatter", string(Timeline)} }
