package simulate

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/message"
)

// Config describes a cell.
type Config struct {
	Seed      uint64
	Terminals []Terminal
	Air       Air
	// MulticastKbps is the rate of multicast; 0 is 6 Mbit/s.
	MulticastKbps message.Rate
	// Loss, Late and Duplicate are the parts of the reports that a terminal does not hear, hears up
	// to half a second late, and hears twice.
	Loss, Late, Duplicate float64
	// StepEvery is the interval between decisions of an agent; 0 means 100 ms, as in package share.
	StepEvery time.Duration
	// Change, if not nil, changes the configuration of all agents.
	Change func(*control.Config)
	// Watch, if not nil, is called when an agent begins. What it returns is called after each step.
	Watch func(terminal int, c control.Config) func(now time.Duration, in control.Inputs, out control.Outputs)
	// Measure, if not nil, is called with each piece of work of an agent, and does it.
	Measure func(terminal int, work func())
}

// Terminal is a terminal of a cell.
type Terminal struct {
	// Standalone is its rate alone, in bit/s. The agent is configured with it unless Radio is set.
	Standalone float64
	// StandaloneAt, if not nil, replaces Standalone at a time.
	StandaloneAt func(now time.Duration) float64
	// Radio, if not nil, returns the radio's rate at a time; zero values make the agent measure.
	Radio func(now time.Duration) control.Radio
	// SingleFrames says that the radio has no A-MPDUs.
	SingleFrames bool
	// Flows are its flows. Without any it has one upload, numbered as the terminal.
	Flows []Flow
	// Limited says that its applications limit its flows: its rate does not count in Jain's index.
	Limited bool
	// Weight is its weight in the allocation; 0 stands for 1.
	Weight float64
	// Joins and Leaves are when it begins and ends to participate; Leaves 0 is never. It sends from
	// Sends on, if that is later than Joins.
	Joins, Leaves, Sends time.Duration
	// Crashes is when it ends without a report; 0 is never.
	Crashes time.Duration
	// NoAgent: it sends without bounds and reports.
	NoAgent bool
	// StepEvery overrides that of the configuration.
	StepEvery time.Duration
	// Claims, if not nil, changes its reports.
	Claims func(*message.Report)
}

// Flow is a flow of a terminal, by its number at the Air.
type Flow struct {
	Number   int
	Download bool
}

// event is something that happens at a time.
type event struct {
	at    time.Duration
	order uint64
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	(*e)[len(*e)-1] = event{}
	*e = (*e)[:len(*e)-1]
	return last
}

// Cell is a cell in virtual time.
type Cell struct {
	config    Config
	key       cellkey.Key
	random    *rand.Rand
	terminals []*terminal
	events    events
	order     uint64
	now       time.Duration
	judged    time.Duration // the last State
	notices   []string
	reports   int
	airtime   time.Duration
	overhear  func(from netip.AddrPort, datagram []byte, at time.Duration)
}

const (
	// longestLate is by how much datagrams come late at most.
	longestLate = 500 * time.Millisecond
	// defaultStepEvery is the interval between decisions of an agent.
	defaultStepEvery = 100 * time.Millisecond
	// keyText is the key of all simulated cells (bytes 00 to 1f), so that a run can be repeated.
	keyText = "airtide-cell-1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9K66xW"
)

// New makes a cell at time zero.
func New(c Config) (*Cell, error) {
	if len(c.Terminals) == 0 || c.Air == nil {
		return nil, fmt.Errorf("simulating a cell: it has %d terminals and needs terminals and an air",
			len(c.Terminals))
	}
	if c.StepEvery == 0 {
		c.StepEvery = defaultStepEvery
	}
	if c.Measure == nil {
		c.Measure = func(_ int, work func()) { work() }
	}
	key, err := cellkey.Parse(keyText)
	if err != nil {
		return nil, fmt.Errorf("simulating a cell: %w", err)
	}
	cell := &Cell{config: c, key: key, random: rand.New(rand.NewPCG(c.Seed, 1))}
	for i := range c.Terminals {
		t := &terminal{cell: cell, number: i, Terminal: c.Terminals[i]}
		for _, f := range c.Terminals[i].Flows {
			t.flows = append(t.flows, terminalFlow{Flow: f})
		}
		if len(t.flows) == 0 {
			t.flows = []terminalFlow{{Flow: Flow{Number: i}}}
		}
		cell.terminals = append(cell.terminals, t)
		cell.at(t.Joins, t.join)
		if t.Leaves > 0 {
			cell.at(t.Leaves, t.leave)
		}
		if t.Crashes > 0 {
			cell.at(t.Crashes, t.vanish)
		}
	}
	return cell, nil
}

// Key is the cell's.
func (c *Cell) Key() cellkey.Key { return c.key }

// Now is the time.
func (c *Cell) Now() time.Duration { return c.now }

// Notices are the lines for the user of all agents so far.
func (c *Cell) Notices() []string { return c.notices }

// Reports is the number of reports so far, and their airtime as package message computes it.
func (c *Cell) Reports() (reports int, airtime time.Duration) { return c.reports, c.airtime }

// at does something at a time.
func (c *Cell) at(t time.Duration, do func()) {
	c.order++
	heap.Push(&c.events, event{t, c.order, do})
}

// Until lets time pass, up to a time.
func (c *Cell) Until(end time.Duration) {
	for len(c.events) > 0 && c.events[0].at <= end {
		c.config.Air.Advance(c.events[0].at)
		// Events that the air brought meanwhile may come first.
		e := heap.Pop(&c.events).(event)
		c.now = max(c.now, e.at)
		e.do()
	}
	c.config.Air.Advance(end)
	c.now = end
}

// Address is the source address of a terminal's datagrams.
func Address(terminal int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(terminal >> 8), byte(terminal)}), 0)
}

// send sends a terminal's datagram to the others.
func (c *Cell) send(from int, datagram []byte, airtime time.Duration) {
	c.reports++
	c.airtime += airtime
	c.config.Air.SendReport(from, len(datagram), func(at time.Duration) { c.Inject(Address(from), datagram, at) })
}

// Overhear sets a function that gets all datagrams.
func (c *Cell) Overhear(take func(from netip.AddrPort, datagram []byte, at time.Duration)) {
	c.overhear = take
}

// Inject delivers a datagram to all terminals as if it came from an address, unless it is lost.
func (c *Cell) Inject(from netip.AddrPort, datagram []byte, at time.Duration) {
	if c.overhear != nil {
		c.overhear(from, datagram, at)
	}
	for _, t := range c.terminals {
		if t.receiver == nil || from == Address(t.number) || c.random.Float64() < c.config.Loss {
			continue
		}
		late := c.random.Float64() < c.config.Late
		if !late {
			t.receive(from, datagram, at)
		}
		if late || c.random.Float64() < c.config.Duplicate {
			c.at(at+time.Duration(c.random.Int64N(int64(longestLate))), func() { t.receive(from, datagram, c.now) })
		}
	}
}
