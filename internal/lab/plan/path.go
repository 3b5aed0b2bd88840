package plan

import (
	"cmp"
	"fmt"
	"slices"

	"airtide/internal/lab/document"
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

func (*WireDiscipline) Choices() []string { return []string{string(WireFIFO), string(HostFair)} }

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

func (*Spread) Choices() []string { return []string{"uniform", "normal"} }

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

func (p *Path) check(c *checker) {
	p.Added.check(c, "path")
	p.Up.OneWay.check(c, "path.up")
	p.Down.OneWay.check(c, "path.down")
	p.Stalls.check(c, "path.stalls")
	before := Duration(0)
	for i, s := range p.Schedule {
		at := fmt.Sprintf("path.schedule.%d", i)
		s.AddStep.check(c, at, s.Rate > 0, &before)
	}
	for _, t := range p.Terminals {
		path := "path.terminals." + t.Name
		if !slices.Contains(c.machines.groups[allTerminals], t.Name) &&
			!slices.Contains(c.e.Terminals.Names(), t.Name) {
			c.problem(path, fmt.Sprintf("%q", t.Name), document.OneOf(t.Name, c.e.Terminals.Names()))
			continue
		}
		t.Value.Added.check(c, path)
		t.Value.Up.check(c, path+".up")
		t.Value.Down.check(c, path+".down")
		before := Duration(0)
		for i, s := range t.Value.Schedule {
			s.check(c, fmt.Sprintf("%s.schedule.%d", path, i), false, &before)
		}
	}
}

func (s AddStep) check(c *checker, path string, changes bool, before *Duration) {
	c.time(path+".at", s.At, before)
	s.Added.check(c, path)
	s.Up.check(c, path+".up")
	s.Down.check(c, path+".down")
	if !changes && s.Added == (Added{}) && s.Up == (OneWay{}) && s.Down == (OneWay{}) {
		c.problem(path, "a time at which nothing changes", "what changes, such as rtt")
	}
}

func (a Added) check(c *checker, path string) {
	if a.RTT != nil && a.Delay != nil {
		c.problem(path+".rtt", "rtt besides delay", "one of them: rtt is the delay of both directions together")
	}
	a.OneWay.check(c, path)
}

func (o OneWay) check(c *checker, path string) {
	if b := o.BurstLoss; b != nil && (b.ToGood == 0 || b.ToBad == 0) {
		c.problem(path+".burst_loss", "a state without an exit", "to_bad and to_good above 0")
	}
	if o.Loss != nil && *o.Loss == 1 {
		c.problem(path+".loss", c.found(path+".loss"), "less than 1: nothing would ever arrive")
	}
}
