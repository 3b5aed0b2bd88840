package plan

import "slices"

// Measurement is a figure that is taken from each run.
type Measurement struct {
	Quantity  Quantity `json:"quantity" jsonschema:"What is measured."`
	Flows     Names    `json:"flows,omitzero" jsonschema:"Over these flows. Default: all whose protocol has the quantity."`
	Terminals Names    `json:"terminals,omitzero" jsonschema:"Over these terminals or groups. Default: all."`
	Take      Take     `json:"take,omitzero" jsonschema:"What of the values of flows or terminals: each of them, or sum, mean (default), median, min, max."`
}

// Quantity is what can be measured.
type Quantity string

// quantities, with the unit of their numbers, and whether they are of a flow, of a terminal or of the whole cell. A
// terminal's is of its radio; a flow's rate is counted where its packets leave the cell or the path.
var quantities = []struct {
	name, unit, of, says string
}{
	{"goodput", "Mbit/s", "flow", "payload delivered, as packets leave cell and path"},
	{"reported_rate", "Mbit/s", "flow", "rate that the tool reports"},
	{"completion_time", "s", "flow", "mean time of one transfer"},
	{"transfers", "", "flow", "transfers completed"},
	{"datagram_loss", "%", "flow", "datagrams lost, by the tool"},
	{"ping_rtt", "ms", "flow", "median of ping"},
	{"srtt", "ms", "flow", "mean of the sender's smoothed RTT, from the kernel"},
	{"cwnd", "packets", "flow", "mean congestion window, from the kernel"},
	{"max_cwnd", "packets", "flow", "greatest congestion window, from the kernel"},
	{"retransmits", "packets", "flow", "segments sent again, from the kernel"},
	{"timeouts", "", "flow", "P4's code 4, from the kernel"},
	{"local_congestion", "", "flow", "P4's code 2, from the kernel"},
	{"airtime", "%", "terminal", "share of the run in which the terminal's or its downlink's frames held the medium"},
	{"collisions", "%", "terminal", "share of its attempts"},
	{"aggregation", "frames", "terminal", "mean MPDUs of its PPDUs"},
	{"queue", "packets", "terminal", "mean length of its transmit queue"},
	{"ap_queue", "packets", "terminal", "mean of what waits for it in the access point"},
	{"ap_sojourn", "ms", "terminal", "median time of its packets in the access point's queue"},
	{"ap_drops", "packets", "terminal", "its packets dropped at the access point"},
}

func (*Quantity) choices() []string {
	names := make([]string, len(quantities))
	for i, q := range quantities {
		names[i] = q.name
	}
	return names
}

// Unit is that of the quantity's numbers, empty for plain ones.
func (q Quantity) Unit() string { return quantities[q.index()].unit }

// OfFlows says that the quantity is of flows, not of terminals.
func (q Quantity) OfFlows() bool { return quantities[q.index()].of == "flow" }

func (q *Quantity) index() int { return max(0, slices.Index(q.choices(), string(*q))) }

// Suits says whether a flow of a protocol has the quantity.
func (q Quantity) Suits(p Protocol) bool {
	switch q {
	case "goodput":
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
	return p != UDP && p != Ping // the kernel's of TCP
}

// kernelQuantities are those that need the kernel's recording of the flow's sender.
var kernelQuantities = []Quantity{"srtt", "cwnd", "max_cwnd", "retransmits", "timeouts", "local_congestion"}

// Take is how the values of several flows or terminals become a measurement.
type Take string

// The takes.
const (
	Each   Take = "each"
	Sum    Take = "sum"
	Mean   Take = "mean"
	Median Take = "median"
	Min    Take = "min"
	Max    Take = "max"
)

func (*Take) choices() []string {
	return []string{string(Each), string(Sum), string(Mean), string(Median), string(Min), string(Max)}
}

// Claim is something that should hold.
type Claim struct {
	Says  string `json:"says" jsonschema:"The source's words."`
	Where string `json:"where,omitzero" jsonschema:"Where in the source."`
	Holds string `json:"holds" jsonschema:"An expression over measurements, such as: mean(at(goodput, {rtt: \"16 ms\"})) > 10"`
}

// Figure is a picture of measurements.
type Figure struct {
	Kind   FigureKind `json:"kind" jsonschema:"lines, bars or scatter."`
	Title  string     `json:"title,omitzero" jsonschema:"Above it."`
	X      string     `json:"x" jsonschema:"A swept parameter; for scatter also a measurement."`
	Y      Names      `json:"y" jsonschema:"Measurements, with their intervals as error bars."`
	Series Names      `json:"series,omitzero" jsonschema:"Swept parameters: a line or bar for each of their values. Default: all but x."`
}

// FigureKind is how a figure is drawn.
type FigureKind string

func (*FigureKind) choices() []string { return []string{"lines", "bars", "scatter"} }
