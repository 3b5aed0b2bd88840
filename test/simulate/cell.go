package simulate

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/message"
)

// Config describes a cell.
type Config struct {
	Seed      uint64
	Terminals []Terminal
	Air       Air
	// Basic is the rate of multicast; 0 is 6 Mbit/s.
	Basic message.Rate
	// Loss, Late and Twice are the parts of the datagrams that a terminal does not hear, hears up
	// to half a second late, and hears twice.
	Loss, Late, Twice float64
	// Every is how often a terminal decides; 0 is 100 ms, as agents do.
	Every time.Duration
	// Around, if not nil, is called with each piece of work of a terminal and does it: to measure
	// it.
	Around func(terminal int, work func())
}

// Terminal is one of a cell.
type Terminal struct {
	// Max is what it reaches alone, in bit/s.
	Max float64
	// Demand is what its applications send at most, in bit/s; 0 is all that it gets.
	Demand float64
	// Weight is what it counts for; 0 stands for 1.
	Weight float64
	// Joins and Leaves are when it begins and ends to take part; it never leaves when that is 0. It
	// sends from Sends on, if that is later than when it joins.
	Joins, Leaves, Sends time.Duration
	// Crashes is when it is gone without a word; never when that is 0.
	Crashes time.Duration
	// Apart takes no part: it sends, says nothing and has no bound.
	Apart bool
	// Every overrides the configuration's.
	Every time.Duration
	// Claims, if not nil, changes what it says of itself.
	Claims func(*message.Report)
}

// Air is the medium, with what terminals send over it.
type Air interface {
	// Advance lets time pass, up to a time.
	Advance(now time.Duration)
	// Allow lets a terminal have so many packets on their way from now on; 0 ends its sending.
	Allow(terminal, packets int)
	// Take is what became of a terminal's packets since the last call.
	Take(terminal int) Passed
	// Say carries a report, and calls heard when the others hear it, within Advance or at once.
	Say(terminal, bytes int, heard func(at time.Duration))
}

// Passed is what became of packets: the bits that were acknowledged, and round-trip times, 0 where
// none was.
type Passed struct {
	Bits        float64
	MinRTT, RTT time.Duration
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
	reports   int
	airtime   time.Duration
	overhear  func(from netip.AddrPort, datagram []byte, at time.Duration)
}

const (
	// longestLate is by how much datagrams come late at most.
	longestLate = 500 * time.Millisecond
	// decideEvery is how often agents decide.
	decideEvery = 100 * time.Millisecond
	// keyText is the key of all simulated cells (bytes 00 to 1f), so that a run can be repeated.
	keyText = "airtide-cell-1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9K66xW"
)

// New makes a cell at time zero.
func New(c Config) (*Cell, error) {
	if len(c.Terminals) == 0 || c.Air == nil {
		return nil, fmt.Errorf("simulating a cell: it needs terminals and an air; there are %d terminals", len(c.Terminals))
	}
	if c.Every == 0 {
		c.Every = decideEvery
	}
	if c.Around == nil {
		c.Around = func(_ int, work func()) { work() }
	}
	key, err := cellkey.Parse(keyText)
	if err != nil {
		return nil, fmt.Errorf("simulating a cell: %w", err)
	}
	cell := &Cell{config: c, key: key, random: rand.New(rand.NewPCG(c.Seed, 1))}
	for i := range c.Terminals {
		t := &terminal{cell: cell, number: i, Terminal: c.Terminals[i]}
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

// Reports is how many reports were said so far, and the airtime that they took by package message's
// reckoning.
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
		// What the air brought meanwhile may come first.
		e := heap.Pop(&c.events).(event)
		c.now = max(c.now, e.at)
		e.do()
	}
	c.config.Air.Advance(end)
	c.now = end
}

// Address is where a terminal's datagrams come from.
func Address(terminal int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(terminal >> 8), byte(terminal)}), 0)
}

// say lets a terminal's datagram be heard by the others.
func (c *Cell) say(from int, datagram []byte, airtime time.Duration) {
	c.reports++
	c.airtime += airtime
	c.config.Air.Say(from, len(datagram), func(at time.Duration) { c.Inject(Address(from), datagram, at) })
}

// Overhear has all datagrams given to somebody who is no terminal.
func (c *Cell) Overhear(take func(from netip.AddrPort, datagram []byte, at time.Duration)) {
	c.overhear = take
}

// Inject lets all hear a datagram as if it came from an address, but for what is lost.
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
			t.hear(from, datagram, at)
		}
		if late || c.random.Float64() < c.config.Twice {
			c.at(at+time.Duration(c.random.Int64N(int64(longestLate))), func() { t.hear(from, datagram, c.now) })
		}
	}
}
