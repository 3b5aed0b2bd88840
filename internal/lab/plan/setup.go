package plan

import (
	"encoding/json"
	"slices"
	"strconv"

	"airtide/internal/cell/medium"
)

// Setup is the resolved form of a run. Each machine, wire and flow has its own entry with all
// derived values.
type Setup struct {
	Duration  Duration        `json:"duration"`
	Warmup    Duration        `json:"warmup"`
	Terminals []TerminalSetup `json:"terminals"`
	Servers   []ServerSetup   `json:"servers"`
	Cell      Cell            `json:"cell"`
	Band      Band            `json:"band"`
	// WireUp and WireDown are the shared wire towards the servers and towards the terminals.
	WireUp   Wire        `json:"wire_up"`
	WireDown Wire        `json:"wire_down"`
	Flows    []FlowSetup `json:"flows"`
	// CongestionControls are the congestion controls that the lab has to load.
	CongestionControls []CongestionSetup `json:"congestion_controls,omitzero"`
	// RecordTCP and RecordPackets name the recorded machines.
	RecordTCP      []string `json:"record_tcp"`
	RecordPackets  []string `json:"record_packets"`
	RecordInterval Duration `json:"record_interval"`
	RecordRadio    bool     `json:"record_radio,omitempty"`
}

// TerminalSetup is one terminal.
type TerminalSetup struct {
	Name  string     `json:"name"`
	Group string     `json:"group"`
	Link  Attachment `json:"link"`
	Stack Stack      `json:"stack"`
	Radio RadioSetup `json:"radio,omitzero"`
	Share Sharing    `json:"share,omitzero"`
	// Guest is nil for a terminal in a namespace.
	Guest *GuestSetup `json:"guest,omitempty"`
	// Up and Down are the values that the path adds, at the start and after each change.
	Up   []LineStep `json:"up"`
	Down []LineStep `json:"down"`
}

// RadioSetup is a radio with its resolved PHY.
type RadioSetup struct {
	PHY []PHYStep `json:"phy"`
	// Aggregation has its limits filled in; Frames is 1 without aggregation.
	Aggregation Aggregation `json:"aggregation"`
	Queue       Limit       `json:"queue"`
	FrameErrors Share       `json:"frame_errors"`
	Refuses     bool        `json:"refuses,omitzero"`
	Access      Access      `json:"access,omitzero"`
}

// PHYStep is the PHY after a time.
type PHYStep struct {
	At  Duration
	PHY medium.PHY
}

// MarshalJSON writes the parameters of the PHY.
func (s PHYStep) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		At       Duration `json:"at"`
		Standard string   `json:"standard"`
		RateBps  int64    `json:"rate_bps"`
		WidthMHz int      `json:"width_mhz"`
		Streams  int      `json:"streams"`
		MCS      int      `json:"mcs"`
		GuardNs  int      `json:"guard_ns"`
		Short    bool     `json:"short_preamble,omitempty"`
	}{
		s.At, s.PHY.Standard.String(), s.PHY.RateBps, s.PHY.WidthMHz, s.PHY.Streams, s.PHY.Index, s.PHY.GuardNs,
		s.PHY.ShortPreamble,
	})
}

// ServerSetup is one server.
type ServerSetup struct {
	Name  string `json:"name"`
	Stack Stack  `json:"stack"`
}

// In a list of names, allTerminals stands for every terminal, and all for every machine.
const (
	allTerminals = "terminals"
	allMachines  = "all"
)

// members returns the names of the terminals in a group: its name alone, or numbered names. It
// stops one after the permitted maximum, so that a mistyped count is refused quickly.
func members(name string, t Terminal) []string {
	if t.Count <= 0 {
		return []string{name}
	}
	names := make([]string, min(t.Count, maxTerminals+1))
	for i := range names {
		names[i] = name + strconv.Itoa(i+1)
	}
	return names
}

// directory maps a name to the machines that it stands for.
type directory struct {
	terminals, servers []string
	groups             map[string][]string
}

func (e *Experiment) directory() directory {
	d := directory{groups: map[string][]string{}}
	for _, t := range e.Terminals {
		names := members(t.Name, t.Value)
		d.groups[t.Name] = names
		d.terminals = append(d.terminals, names...)
	}
	for _, n := range d.terminals {
		if _, taken := d.groups[n]; !taken {
			d.groups[n] = []string{n}
		}
	}
	d.groups[allTerminals] = d.terminals
	for _, s := range e.Servers {
		d.servers = append(d.servers, s.Name)
		d.groups[s.Name] = []string{s.Name}
	}
	d.groups[allMachines] = slices.Concat(d.terminals, d.servers)
	return d
}

// machines returns the machines of a list of names, each once.
func (d directory) machines(names Names) []string {
	var all []string
	for _, n := range names {
		for _, m := range d.groups[n] {
			if !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	return all
}

// A plan holds the setups of all points in memory. Its size counts them in steps of a line, which
// have about 100 bytes. maxSize keeps a plan below 200 MB.
const (
	maxSize      = 1_000_000
	terminalSize = 10
	flowSize     = 5
)

// size returns the size of the setup, and the work of checking its measurements and figures.
func (e *Experiment) size() int {
	shared := len(e.Path.Schedule) + e.Path.Stalls.steps(e.Duration)
	size := len(e.Servers) * terminalSize
	d := e.directory()
	for _, t := range e.Terminals {
		group, _ := e.Path.Terminals.Get(t.Name)
		steps := shared + len(group.Schedule) + len(t.Value.Radio.Schedule)
		for _, name := range d.groups[t.Name] {
			size += terminalSize + 2*steps
			if own, ok := e.Path.Terminals.Get(name); ok && name != t.Name {
				size += 2 * len(own.Schedule)
			}
		}
	}
	for _, f := range e.Flows {
		size += flowSize * max(len(d.machines(f.Value.From)), len(d.machines(f.Value.To)))
	}
	return size + len(e.Measure)*(1+len(e.Flows)) + len(e.Figures)
}

// resolve returns the setup of a checked experiment.
func (e *Experiment) resolve() *Setup {
	d := e.directory()
	s := &Setup{
		Duration: e.Duration, Warmup: e.Warmup, Cell: e.Cell, Band: e.band(),
		WireUp: e.Path.wire(up), WireDown: e.Path.wire(down),
		CongestionControls: e.congestionControls(),
		RecordTCP:          d.machines(e.Record.TCP), RecordPackets: d.machines(e.Record.Packets),
		RecordInterval: e.Record.Interval, RecordRadio: e.Record.Radio,
	}
	for _, t := range e.Terminals {
		for _, name := range d.groups[t.Name] {
			terminal := TerminalSetup{
				Name: name, Group: t.Name, Link: t.Value.Link, Stack: t.Value.Stack, Share: t.Value.Share,
				Guest: t.Value.guest(),
				Up:    e.Path.Stalls.apply(e.Path.lines(name, t.Name, up), e.Duration),
				Down:  e.Path.Stalls.apply(e.Path.lines(name, t.Name, down), e.Duration),
			}
			if t.Value.Link == WLAN {
				terminal.Radio = t.Value.Radio.resolve()
			}
			s.Terminals = append(s.Terminals, terminal)
		}
	}
	for _, server := range e.Servers {
		s.Servers = append(s.Servers, ServerSetup{server.Name, server.Value.Stack})
	}
	for _, f := range e.Flows {
		s.Flows = append(s.Flows, f.Value.resolve(f.Name, d)...)
	}
	return s
}

// resolve returns the flows of the file's flow, one for each pair of machines.
func (f Flow) resolve(name string, d directory) []FlowSetup {
	from := d.machines(f.From)
	to := d.machines(f.To)
	flows := make([]FlowSetup, max(len(from), len(to)))
	for i := range flows {
		flows[i] = FlowSetup{
			Name: name, Group: name, From: from[i%len(from)], To: to[i%len(to)],
			Start: f.Start + Duration(i)*f.Stagger, Flow: f,
		}
		if len(flows) > 1 {
			flows[i].Name += strconv.Itoa(i + 1)
		}
	}
	return flows
}

func (r *Radio) resolve() RadioSetup {
	s := RadioSetup{
		Aggregation: r.Aggregation.bounded(r.Standard), Queue: r.Queue, FrameErrors: r.FrameErrors,
		Refuses: r.Refuses, Access: r.Access,
	}
	for _, step := range append([]RateStep{{0, r.PHYRate}}, r.Schedule...) {
		p, err := r.phy(step.PHYRate)
		if err != nil {
			panic("plan: resolved without a check: " + err.Error())
		}
		if r.ShortPreamble {
			p = p.WithShortPreamble()
		}
		if step.At == 0 {
			s.PHY = nil // a step at the start replaces the first rate
		}
		s.PHY = append(s.PHY, PHYStep{step.At, p})
	}
	return s
}

// bounded replaces zero fields by the limits of the standard.
func (a Aggregation) bounded(s Standard) Aggregation {
	facts := s.facts()
	if facts.frames == 0 {
		return Aggregation{Frames: 1}
	}
	orDefault(&a.Bytes, facts.bytes)
	orDefault(&a.Frames, facts.frames)
	orDefault(&a.Airtime, maxPPDU)
	return a
}

// band returns the band in the file, or else the band of the terminals' standards.
func (e *Experiment) band() Band {
	if e.Cell.Band != "" {
		return e.Cell.Band
	}
	for _, t := range e.Terminals {
		if t.Value.Link == WLAN && t.Value.Radio.Standard != "" && !t.Value.Radio.Standard.facts().at5 {
			return Band24
		}
	}
	return Band5
}
