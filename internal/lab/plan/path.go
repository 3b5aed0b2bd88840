package plan

import (
	"cmp"
	"slices"
)

// Path is the wired part: a wire that all terminals share, and values added for each terminal.
// Added values apply to all terminals and both directions. Values of a direction or of a terminal
// override them; up is towards the servers.
type Path struct {
	Rate  Rate  `json:"rate,omitzero" jsonschema:"Rate of the Ethernet wire in each direction, including framing. Default 1 Gbit/s."`
	Queue Limit `json:"queue,omitzero" jsonschema:"Limit of the queue in front of the wire, in each direction. Default 1000 packets."`
	// Discipline holds for both directions.
	Discipline WireDiscipline `json:"discipline,omitzero" jsonschema:"Discipline of the queue in front of the wire, in each direction: fifo (default), or host_fair: terminals take turns and CoDel keeps queues of flows short, as CAKE does."`
	Added
	Up        WireDirection       `json:"up,omitzero" jsonschema:"Different values towards the servers."`
	Down      WireDirection       `json:"down,omitzero" jsonschema:"Different values towards the terminals."`
	Terminals Named[TerminalPath] `json:"terminals,omitzero" jsonschema:"Different values for terminals or groups, by name."`
	Schedule  []PathStep          `json:"schedule,omitzero" jsonschema:"Changes during a run."`
	Stalls    Stalls              `json:"stalls,omitzero" jsonschema:"Times in which no packet passes."`
}

// WireDiscipline is the queueing discipline in front of the wire.
type WireDiscipline string

// The disciplines.
const (
	WireFIFO WireDiscipline = "fifo"
	HostFair WireDiscipline = "host_fair"
)

func (*WireDiscipline) choices() []string { return []string{string(WireFIFO), string(HostFair)} }

// WireDirection is one direction of the path.
type WireDirection struct {
	Rate  Rate  `json:"rate,omitzero" jsonschema:"Rate of the wire in this direction."`
	Queue Limit `json:"queue,omitzero" jsonschema:"Limit of the queue in this direction."`
	OneWay
}

// Added holds the values that the path adds in both directions, and those of each direction.
type Added struct {
	RTT *Duration `json:"rtt,omitzero" jsonschema:"Added round-trip time, half of it in each direction."`
	OneWay
}

// OneWay holds the values that the path adds in one direction.
type OneWay struct {
	Delay     *Duration  `json:"delay,omitzero" jsonschema:"Delay added to each packet in this direction."`
	Jitter    *Duration  `json:"jitter,omitzero" jsonschema:"Variation of the delay: the half width of a uniform distribution, or the standard deviation of a normal one."`
	Spread    Spread     `json:"jitter_distribution,omitzero" jsonschema:"Distribution of the jitter. Default uniform."`
	Loss      *Share     `json:"loss,omitzero" jsonschema:"Share of packets that are lost, independently of each other."`
	BurstLoss *BurstLoss `json:"burst_loss,omitzero" jsonschema:"Loss in bursts (Gilbert-Elliott)."`
	Reorder   *Share     `json:"reorder,omitzero" jsonschema:"Share of packets that skip the delay and overtake others."`
	Duplicate *Share     `json:"duplicate,omitzero" jsonschema:"Share of packets that arrive twice."`
}

// Spread is a distribution of jitter.
type Spread string

func (*Spread) choices() []string { return []string{"uniform", "normal"} }

// BurstLoss is the Gilbert-Elliott model, with the parameters of tc-netem(8).
type BurstLoss struct {
	ToBad    Share `json:"to_bad" jsonschema:"Probability of changing from the good to the bad state, before each packet."`
	ToGood   Share `json:"to_good" jsonschema:"Probability of changing back to the good state, before each packet."`
	LossBad  Share `json:"loss_bad" jsonschema:"Share of packets that are lost in the bad state."`
	LossGood Share `json:"loss_good,omitzero" jsonschema:"Share of packets that are lost in the good state. Default 0."`
}

// TerminalPath overrides the path for one terminal.
type TerminalPath struct {
	Added
	Up       OneWay    `json:"up,omitzero" jsonschema:"Different values towards the servers."`
	Down     OneWay    `json:"down,omitzero" jsonschema:"Different values towards the terminal."`
	Schedule []AddStep `json:"schedule,omitzero" jsonschema:"Changes during a run, for this terminal."`
}

// AddStep changes the added values of a terminal at a time.
type AddStep struct {
	At Duration `json:"at" jsonschema:"Time of the change, from the start of the run."`
	Added
	Up   OneWay `json:"up,omitzero" jsonschema:"Different values towards the servers."`
	Down OneWay `json:"down,omitzero" jsonschema:"Different values towards the terminals."`
}

// PathStep changes the path of all terminals, and the wire.
type PathStep struct {
	Rate Rate `json:"rate,omitzero" jsonschema:"New rate of the wire in both directions."`
	AddStep
}

// Line contains the values that the path adds for one terminal in one direction.
type Line struct {
	Delay     Duration   `json:"delay"`
	Jitter    Duration   `json:"jitter"`
	Spread    Spread     `json:"jitter_distribution"`
	Loss      Share      `json:"loss"`
	BurstLoss *BurstLoss `json:"burst_loss,omitzero"`
	Reorder   Share      `json:"reorder"`
	Duplicate Share      `json:"duplicate"`
}

// LineStep is the line after a time.
type LineStep struct {
	At   Duration `json:"at"`
	Line Line     `json:"line"`
}

// Wire is the shared wire in one direction.
type Wire struct {
	Rate  Rate  `json:"rate"`
	Queue Limit `json:"queue"`
	// HostFair lets terminals take turns.
	HostFair bool       `json:"host_fair,omitzero"`
	Steps    []WireStep `json:"steps,omitzero"`
}

// WireStep is the wire's rate after a time.
type WireStep struct {
	At   Duration `json:"at"`
	Rate Rate     `json:"rate"`
}

// direction is one of the two directions through the path.
type direction bool

const (
	up   direction = true
	down direction = false
)

// apply overrides the values of a line by the values that are set here.
func (o OneWay) apply(l *Line) {
	set(&l.Delay, o.Delay)
	set(&l.Jitter, o.Jitter)
	set(&l.Loss, o.Loss)
	set(&l.Reorder, o.Reorder)
	set(&l.Duplicate, o.Duplicate)
	if o.Spread != "" {
		l.Spread = o.Spread
	}
	if o.BurstLoss != nil {
		l.BurstLoss = o.BurstLoss
	}
}

func (a Added) apply(l *Line) {
	a.OneWay.apply(l)
	if a.RTT != nil {
		l.Delay = *a.RTT / 2
	}
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// towards returns the value of a direction.
func towards[T any](d direction, upwards, downwards T) T {
	if d == up {
		return upwards
	}
	return downwards
}

// lines returns a terminal's path in one direction: at the start, and after each change.
func (p *Path) lines(terminal, group string, d direction) []LineStep {
	layers := []func(*Line){
		p.Added.apply, // order: path, its direction, the group, the terminal
		towards(d, p.Up, p.Down).OneWay.apply,
	}
	type change struct {
		at   Duration
		over func(*Line)
	}
	var changes []change
	schedule := func(steps []AddStep) {
		for _, s := range steps {
			changes = append(changes, change{s.At, func(l *Line) {
				s.Added.apply(l)
				towards(d, s.Up, s.Down).apply(l)
			}})
		}
	}
	for _, s := range p.Schedule {
		schedule([]AddStep{s.AddStep})
	}
	for _, name := range slices.Compact([]string{group, terminal}) {
		if t, ok := p.Terminals.Get(name); ok {
			layers = append(layers, t.Added.apply, towards(d, t.Up, t.Down).apply)
			schedule(t.Schedule)
		}
	}
	line := Line{Spread: "uniform"}
	for _, over := range layers {
		over(&line)
	}
	steps := []LineStep{{0, line}}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	for _, c := range changes {
		c.over(&line)
		if last := &steps[len(steps)-1]; last.At == c.at {
			last.Line = line
		} else if last.Line != line {
			steps = append(steps, LineStep{c.at, line})
		}
	}
	return steps
}

// wire returns the shared wire in one direction.
func (p *Path) wire(d direction) Wire {
	own := towards(d, p.Up, p.Down)
	w := Wire{
		Rate: cmp.Or(own.Rate, p.Rate), Queue: cmp.Or(own.Queue, p.Queue), HostFair: p.Discipline == HostFair,
	}
	for _, s := range p.Schedule {
		if s.Rate > 0 {
			w.Steps = append(w.Steps, WireStep{s.At, s.Rate})
		}
	}
	return w
}
