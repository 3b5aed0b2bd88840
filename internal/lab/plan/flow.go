package plan

import (
	"fmt"
	"slices"

	"airtide/internal/lab/document"
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

func (*Protocol) Choices() []string {
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

func (*Direction) Choices() []string { return []string{string(Forward), string(Reverse), string(Both)} }

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
	from := d.machines(f.From)
	to := d.machines(f.To)
	switch {
	case f.SendsBack():
		return to
	case f.Direction == Both:
		return slices.Concat(from, to)
	}
	return from
}

func (f Flow) check(c *checker, path string) {
	fromOK := c.references(path+".from", f.From)
	toOK := c.references(path+".to", f.To)
	if !fromOK || !toOK {
		return
	}
	from := c.machines.machines(f.From)
	to := c.machines.machines(f.To)
	switch n, m := len(from), len(to); {
	case n == 0 || m == 0:
		c.problem(path, "a flow without an end", "from and to")
		return
	case n != m && n != 1 && m != 1:
		c.problem(path+".to", fmt.Sprintf("%d machines for %d in from", m, n), "as many, or one")
		return
	}
	f.checkGuests(c, path)
	for _, one := range f.resolve("", c.machines) {
		if one.From == one.To {
			c.problem(path+".to", fmt.Sprintf("a flow from %s to itself", one.From), "two machines")
		}
		if slices.Contains(c.machines.servers, one.From) && slices.Contains(c.machines.servers, one.To) {
			c.problem(path+".to", fmt.Sprintf("a flow between the servers %s and %s", one.From, one.To),
				"a terminal at one end at least")
		}
		if one.Start >= f.Stop {
			c.problem(path, fmt.Sprintf("a start (with stagger) at %s and a stop at %s", one.Start, f.Stop),
				"a start before the stop")
			break
		}
	}
	if f.Stop > c.e.Duration {
		c.problem(path+".stop", f.Stop.String(), fmt.Sprintf("at most the duration, %s", c.e.Duration))
	}
	f.checkProtocol(c, path)
	total := 0
	for _, other := range c.e.Flows {
		total += max(
			len(c.machines.machines(other.Value.From)), len(c.machines.machines(other.Value.To)),
		) * max(1, other.Value.Parallel)
	}
	if total > maxFlows {
		c.problem("flows", fmt.Sprintf("%d connections at once", total), fmt.Sprintf("at most %d", maxFlows))
	}
}

func (f Flow) checkProtocol(c *checker, path string) {
	for _, name := range meaningless(f.Protocol) {
		if c.has(path + "." + name) {
			c.problem(path+"."+name, fmt.Sprintf("%s for %s", name, f.Protocol),
				"none: it means nothing for this protocol, which takes "+document.OneOf("", takes[f.Protocol]))
		}
	}
	if f.Protocol == UDP {
		switch {
		case f.Rate == 0:
			c.problem(path, "udp without a rate", "one, such as 30 Mbit/s: iperf3 sends as fast as it is told to")
		case f.Length < 16 || f.Length > 65507:
			c.problem(path+".length", f.Length.String(), "16 to 65507 B (1472 B fill an Ethernet frame)")
		}
	}
	if f.Protocol == Ping {
		if f.Length < 16 || f.Length > 65507 {
			c.problem(path+".length", f.Length.String(), "16 to 65507 B")
		}
		if f.Interval < Duration(2e6) {
			c.problem(path+".interval", f.Interval.String(), "at least 2 ms, as ping has it")
		}
	}
	if f.Parallel < 1 || f.Parallel > 128 {
		c.problem(path+".parallel", c.found(path+".parallel"), "1 to 128")
	}
	if f.Transfers < 0 {
		c.problem(path+".transfers", c.found(path+".transfers"), "0 (as many as there is time for) or more")
	}
	c.congestion(path+".congestion", f.Congestion)
}
