package plan

import (
	"slices"
)

// Flow is traffic from one machine to another, or from each terminal of a group.
type Flow struct {
	From       Names     `json:"from" jsonschema:"Machine that opens the connection: a terminal, a group (each member), terminals (all), or a server; or a list."`
	To         Names     `json:"to" jsonschema:"Machine that answers: one for all, or one for each machine in from."`
	Protocol   Protocol  `json:"protocol" jsonschema:"tcp and udp: iperf3. http_put, http_get: curl to and from Apache httpd. transfers: one TCP connection after another, each with size bytes. web: short downloads with pauses. ping."`
	Direction  Direction `json:"direction,omitzero" jsonschema:"Direction of the data of tcp and udp: forward (default: from the machine in from to the one in to), reverse, or both at once."`
	Start      Duration  `json:"start,omitzero" jsonschema:"Start of the flow, from the start of the run. Default 0."`
	Stop       Duration  `json:"stop,omitzero" jsonschema:"End of the flow, from the start of the run. Default: the end of the run."`
	Stagger    Duration  `json:"stagger,omitzero" jsonschema:"Time between the starts of the flows of a group."`
	Parallel   int       `json:"parallel,omitzero" jsonschema:"Number of connections at the same time. Default 1."`
	Rate       Rate      `json:"rate,omitzero" jsonschema:"Rate of the application. udp: required. tcp: default unlimited."`
	Length     Size      `json:"length,omitzero" jsonschema:"Payload of a datagram. udp: default 1470 B. ping: default 56 B."`
	Size       Size      `json:"size,omitzero" jsonschema:"Size of one transfer. transfers: default 1 MB. web: the mean, default 30 kB. http_put, http_get: default until stop."`
	Transfers  int       `json:"transfers,omitzero" jsonschema:"Number of transfers, one after another. Default: as many as fit into the time."`
	Interval   Duration  `json:"interval,omitzero" jsonschema:"ping: time between requests, default 200 ms. web: mean pause, default 1 s."`
	Congestion string    `json:"congestion,omitzero" jsonschema:"Congestion control of the sender for this flow only. The names are those of a terminal's congestion."`
}

// Protocol is a workload.
type Protocol string

// The protocols.
const (
	TCP       Protocol = "tcp"
	UDP       Protocol = "udp"
	HTTPPut   Protocol = "http_put"
	HTTPGet   Protocol = "http_get"
	Transfers Protocol = "transfers"
	Web       Protocol = "web"
	Ping      Protocol = "ping"
)

func (*Protocol) choices() []string {
	return []string{
		string(TCP), string(UDP), string(HTTPPut), string(HTTPGet), string(Transfers), string(Web), string(Ping),
	}
}

// Direction is the direction of a flow's data.
type Direction string

// The directions.
const (
	Forward Direction = "forward"
	Reverse Direction = "reverse"
	Both    Direction = "both"
)

func (*Direction) choices() []string { return []string{string(Forward), string(Reverse), string(Both)} }

// takes lists the optional fields that each protocol uses.
var takes = map[Protocol][]string{
	TCP:       {"direction", "parallel", "rate", "congestion"},
	UDP:       {"direction", "parallel", "rate", "length"},
	HTTPPut:   {"parallel", "size", "transfers"},
	HTTPGet:   {"parallel", "size", "transfers"},
	Transfers: {"parallel", "size", "transfers", "congestion"},
	Web:       {"parallel", "size", "transfers", "interval"},
	Ping:      {"length", "interval", "transfers"},
}

// optional are the fields that depend on the protocol.
var optional = []string{"direction", "parallel", "rate", "length", "size", "transfers", "interval", "congestion"}

// meaningless returns the fields that a protocol does not use.
func meaningless(p Protocol) []string {
	return slices.DeleteFunc(slices.Clone(optional), func(f string) bool { return slices.Contains(takes[p], f) })
}

// setDefaults sets the fields whose defaults depend on the protocol. The default datagram of 1470
// bytes is that of iperf 2, which the papers used. With its headers it is two bytes shorter than a
// full Ethernet frame.
func (f *Flow) setDefaults(duration Duration) {
	orDefault(&f.Stop, duration)
	orDefault(&f.Parallel, 1)
	orDefault(&f.Direction, Forward)
	switch f.Protocol {
	case UDP:
		orDefault(&f.Length, 1470)
	case Transfers:
		orDefault(&f.Size, 1e6)
	case Web:
		orDefault(&f.Size, 30e3)
		orDefault(&f.Interval, Duration(1e9))
	case Ping:
		orDefault(&f.Length, 56)
		orDefault(&f.Interval, Duration(200e6))
	}
}

// FlowSetup is one flow of a run.
type FlowSetup struct {
	// Name is the flow's name in the file, with a number appended if it stands for several flows.
	Name  string `json:"name"`
	Group string `json:"group"`
	From  string `json:"from"`
	To    string `json:"to"`
	// Start includes the stagger.
	Start Duration `json:"start"`
	Flow  Flow     `json:"flow"`
}

// Goodput selects the payload rate of the flow's data from its rates towards its port (forward) and
// from it (reverse). Replies to the data do not count. Ping has no goodput.
func (f Flow) Goodput(forward, reverse float64) (rate float64, ok bool) {
	switch {
	case !Quantity("goodput").Suits(f.Protocol):
		return 0, false
	case f.Direction == Both:
		return forward + reverse, true
	case f.SendsBack():
		return reverse, true
	}
	return forward, true
}

// SendsBack reports whether the answering machine sends the data.
func (f Flow) SendsBack() bool {
	return f.Protocol == HTTPGet || f.Protocol == Web || f.Direction == Reverse
}

// senders returns the machines whose kernels send a flow's data.
func (f Flow) senders(d directory) []string {
	from, to := d.machines(f.From), d.machines(f.To)
	switch {
	case f.SendsBack():
		return to
	case f.Direction == Both:
		return slices.Concat(from, to)
	}
	return from
}
