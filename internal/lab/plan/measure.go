package plan

import (
	"cmp"
	"fmt"
	"slices"

	"airtide/internal/lab/document"
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
	{
		"limited_application", "%", "flow",
		"share of the time in which the sending program or its exchanges limited the rate, by the diagnosis",
	},
	{
		"limited_receiver", "%", "flow",
		"share of the time in which the receiver's window or program limited the rate, by the diagnosis",
	},
	{
		"limited_sender", "%", "flow",
		"share of the time in which the sender's buffer, window, pacing or device limited the rate, by the diagnosis",
	},
	{
		"limited_loss", "%", "flow",
		"share of the time in which losses, reordering or pauses of the path limited the rate, by the diagnosis",
	},
	{
		"limited_capacity", "%", "flow",
		"share of the time in which the path's capacity limited the rate, by the diagnosis",
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

func (*Quantity) Choices() []string {
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

func (q *Quantity) index() int { return max(0, slices.Index(q.Choices(), string(*q))) }

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
	"rwnd_limited", "sndbuf_limited",
	"limited_application", "limited_receiver", "limited_sender", "limited_loss", "limited_capacity",
	"retransmits", "reordering", "local_congestion", "duplicate_acks", "timeouts",
}

// timeSeries lists the quantities that also have a time series.
var timeSeries = []Quantity{"goodput", "srtt", "cwnd", "ca_state", "cubic_k", "send_window"}

// HasTimeSeries reports whether a run has a time series of the quantity, which a timeline can show.
func (q Quantity) HasTimeSeries() bool { return slices.Contains(timeSeries, q) }

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

func (*Take) Choices() []string {
	return []string{string(Each), string(Sum), string(Mean), string(Median), string(Min), string(Max), string(Jain)}
}

// Claim is an expected property of the results.
type Claim struct {
	Says  string `json:"says" jsonschema:"The statement of the source."`
	Where string `json:"where,omitzero" jsonschema:"Place in the source, such as a section."`
	Holds string `json:"holds" jsonschema:"An expression over measurements, such as: mean(at(goodput, {rtt: \"16 ms\"})) > 10"`
}

func (m Measurement) check(c *checker, path string) {
	for i, name := range m.Flows {
		if !slices.Contains(c.e.Flows.Names(), name) {
			c.problem(c.item(path+".flows", i), fmt.Sprintf("%q", name), document.OneOf(name, c.e.Flows.Names()))
		}
	}
	terminals := c.e.Terminals.Names()
	for i, name := range m.Terminals {
		if !slices.Contains(c.machines.terminals, name) && !slices.Contains(terminals, name) {
			c.problem(c.item(path+".terminals", i), fmt.Sprintf("%q", name), document.OneOf(name, terminals))
		}
	}
	m.checkTime(c, path)
	if m.Quantity.OfCell() {
		m.checkCell(c, path)
		return
	}
	if len(m.Flows) > 0 && !m.Quantity.OfFlows() {
		c.problem(path+".flows", fmt.Sprintf("flows for %s", m.Quantity),
			"terminals: it is a figure of a terminal's radio")
		return
	}
	if !m.Quantity.OfFlows() {
		return
	}
	var measured []Item[Flow]
	for _, f := range c.e.Flows {
		if (len(m.Flows) == 0 || slices.Contains(m.Flows, f.Name)) && m.Quantity.Suits(f.Value.Protocol) {
			measured = append(measured, f)
		} else if slices.Contains(m.Flows, f.Name) {
			c.problem(path+".flows", fmt.Sprintf("%s of the flow %s", m.Quantity, f.Name),
				fmt.Sprintf("a quantity that %s has", f.Value.Protocol))
		}
	}
	if len(measured) == 0 {
		c.problem(path+".quantity", fmt.Sprintf("%s, which no flow has", m.Quantity),
			"a quantity of the flows' protocols")
	}
	m.checkMaxima(c, path, measured)
	if slices.Contains(kernelQuantities, m.Quantity) {
		recorded := c.machines.machines(c.e.Record.TCP)
		for _, f := range measured {
			for _, sender := range f.Value.senders(c.machines) {
				if !slices.Contains(recorded, sender) {
					c.problem(path+".quantity",
						fmt.Sprintf("%s of %s, whose kernel is not recorded", m.Quantity, sender), "record.tcp with it")
				}
			}
		}
	}
}

// checkTime checks the fields from and to.
func (m Measurement) checkTime(c *checker, path string) {
	if m.From == 0 && m.To == 0 {
		return
	}
	from := cmp.Or(m.From, c.e.Warmup)
	to := cmp.Or(m.To, c.e.Duration)
	switch {
	case !slices.Contains(ofGoodput, m.Quantity):
		c.problem(path, fmt.Sprintf("%s of a part of a run", m.Quantity),
			"goodput or what follows from it: others are of the whole time from the warm-up on")
	case to > c.e.Duration:
		c.problem(path+".to", to.String(), fmt.Sprintf("at most the duration, %s", c.e.Duration))
	case from >= to:
		c.problem(path, fmt.Sprintf("a part from %s to %s", from, to), "an end after its start")
	}
}

// checkCell checks a measurement of the whole cell.
func (m Measurement) checkCell(c *checker, path string) {
	for name, given := range map[string]bool{"flows": len(m.Flows) > 0, "terminals": len(m.Terminals) > 0} {
		if given {
			c.problem(path+"."+name, fmt.Sprintf("%s for %s", name, m.Quantity),
				"none: it is a figure of the whole cell")
		}
	}
	if m.Quantity != "distance" {
		return
	}
	flows := slices.DeleteFunc(slices.Clone(c.e.Flows), func(f Item[Flow]) bool {
		return !Quantity("goodput").Suits(f.Value.Protocol)
	})
	if len(flows) == 0 {
		c.problem(path+".quantity", "distance, without goodput", "a flow that has goodput")
	}
	m.checkMaxima(c, path, flows)
}

// checkMaxima checks that the rate of each terminal alone is known.
func (m Measurement) checkMaxima(c *checker, path string, flows []Item[Flow]) {
	if !slices.Contains(overMax, m.Quantity) {
		return
	}
	for _, t := range c.e.Terminals {
		takesPart := slices.ContainsFunc(flows, func(f Item[Flow]) bool {
			return slices.ContainsFunc(slices.Concat(
				c.machines.machines(f.Value.From), c.machines.machines(f.Value.To),
			), func(machine string) bool {
				return slices.Contains(c.machines.groups[t.Name], machine)
			})
		})
		if takesPart && t.Value.Share.MaxRate == 0 {
			c.problem(
				path+".quantity",
				fmt.Sprintf("%s of %s, whose rate alone is unknown", m.Quantity, t.Name),
				"share.max_rate of it",
			)
		}
	}
}
