package path

import (
	"errors"
	"math"
	"math/rand/v2"

	"airtide/internal/cell/queue"
)

// never is the time of an event that will not happen.
const never = math.MaxInt64

// Callbacks receive the packets that leave the path.
type Callbacks struct {
	// Deliver receives a packet at the other end.
	Deliver func(p *queue.Packet, atNs int64)
	// Drop receives a lost packet (queue.PlacePath) or a packet that found the wire's queue full
	// (queue.PlaceWireQueue).
	Drop queue.Drop
	// Copy returns a second packet with the same contents, or nil if there is no room. Only lines
	// that duplicate packets call it.
	Copy func(p *queue.Packet) *queue.Packet
}

// Path is one direction of the wired part.
type Path struct {
	callbacks Callbacks
	wire      wire
	fair      *hostFair // the queue of a wire with HostFair; nil for a FIFO
	lines     []line
	schedule  []Change
	held      bool
	beginNs   int64 // zero of the schedule's times
	// heads has the first event of every line. An entry that is not its line's first any more is
	// stale and passed over.
	heads  heap
	number uint64 // the next packet's number
	// latestNs is the latest time handled.
	latestNs int64
}

// event is the arrival of a packet at the other end.
type event struct {
	atNs    int64
	number  uint64 // in the order of entering
	packet  *queue.Packet
	station int32
}

// before: equal times go in the order of entering.
func (e *event) before(other *event) bool {
	return e.atNs < other.atNs || e.atNs == other.atNs && e.number < other.number
}

// New creates a path. Each terminal has its own random sequence, seeded from the given one, so it
// does not depend on the traffic of others.
func New(c Config, random *rand.PCG, callbacks Callbacks) (*Path, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if callbacks.Copy == nil && c.duplicates() {
		return nil, errors.New("duplication needs a callback that copies packets")
	}
	p := &Path{
		callbacks: callbacks, wire: wire{Wire: c.Wire}, lines: make([]line, len(c.Lines)), schedule: c.Schedule,
		held: c.Held,
	}
	if c.Wire.HostFair {
		p.fair = newHostFair(c.Wire, len(c.Lines), p.dropFromWire)
	}
	for i, l := range c.Lines {
		p.lines[i] = line{Line: l, random: rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))}
	}
	return p, nil
}

func (c Config) duplicates() bool {
	for _, l := range c.Lines {
		if l.Duplicate > 0 {
			return true
		}
	}
	for _, change := range c.Schedule {
		if change.Line != nil && change.Line.Duplicate > 0 {
			return true
		}
	}
	return false
}

// Push takes a packet of the terminal p.Station.
func (p *Path) Push(packet *queue.Packet, nowNs int64) {
	p.changeUntil(nowNs)
	p.latestNs = nowNs
	packet.EnteredNs = nowNs
	l := &p.lines[packet.Station]
	l.counters.Pushed++
	if l.loses() {
		l.counters.Lost++
		p.callbacks.Drop(packet, queue.PlacePath, nowNs)
		return
	}
	if p.fair != nil {
		p.fair.Push(packet, nowNs)
		p.transmit(nowNs)
		return
	}
	endNs, ok := p.wire.enter(p.number, packet.Length, nowNs)
	if !ok {
		p.dropFromWire(packet, queue.PlaceWireQueue, nowNs)
		return
	}
	p.leave(packet, endNs)
}

func (p *Path) dropFromWire(packet *queue.Packet, _ queue.Place, atNs int64) {
	p.lines[packet.Station].counters.QueueDropped++
	p.callbacks.Drop(packet, queue.PlaceWireQueue, atNs)
}

// leave puts a packet, and its copy if the line duplicates it, into its line. endNs is the time at
// which its last bit leaves the wire.
func (p *Path) leave(packet *queue.Packet, endNs int64) {
	l := &p.lines[packet.Station]
	var second *queue.Packet
	if l.Duplicate > 0 && l.random.Float64() < l.Duplicate {
		second = p.callbacks.Copy(packet)
		if second != nil {
			l.counters.Duplicated++
		}
	}
	p.delay(l, packet, endNs)
	if second != nil {
		p.delay(l, second, endNs)
	}
}

// delay puts a packet into its line. endNs is the time at which its last bit leaves the wire.
func (p *Path) delay(l *line, packet *queue.Packet, endNs int64) {
	e := event{atNs: endNs, number: p.number, packet: packet, station: int32(packet.Station)}
	p.number++
	l.enter(e)
	if head := l.head(); head.number == e.number {
		p.heads.push(*head)
	}
}

// first returns the next arrival, or nil.
func (p *Path) first() *event {
	for len(p.heads) > 0 {
		e := &p.heads[0]
		if head := p.lines[e.station].head(); head != nil && head.number == e.number {
			return e
		}
		p.heads.pop()
	}
	return nil
}

// Next returns the time of the next arrival or change, or math.MaxInt64 if there is none.
func (p *Path) Next() int64 {
	next := int64(never)
	if e := p.first(); e != nil {
		next = e.atNs
	}
	return min(next, p.changeNs(), p.freeNs())
}

// changeNs returns the time of the next change in the schedule, or never.
func (p *Path) changeNs() int64 {
	if len(p.schedule) == 0 || p.held {
		return never
	}
	return p.beginNs + p.schedule[0].AtNs
}

// Begin starts a schedule that was held. Everything due until now is to have been handled.
func (p *Path) Begin(nowNs int64) {
	if p.held {
		p.held = false
		p.beginNs = nowNs
	}
}

// Advance delivers all packets that are due up to and including now.
func (p *Path) Advance(nowNs int64) {
	for {
		e := p.first()
		// A change comes before arrivals of the same time.
		if at := p.changeNs(); at <= nowNs && at != never && (e == nil || at <= e.atNs) && at <= p.freeNs() {
			p.change()
			continue
		}
		if at := p.freeNs(); at <= nowNs && at != never && (e == nil || at <= e.atNs) {
			p.transmit(at)
			continue
		}
		if e == nil || e.atNs > nowNs {
			break
		}
		p.deliver(*e)
	}
	p.latestNs = max(p.latestNs, nowNs)
}

func (p *Path) deliver(e event) {
	l := &p.lines[e.station]
	l.pop()
	if head := l.head(); head != nil {
		p.heads.replaceTop(*head)
	} else {
		p.heads.pop()
	}
	l.counters.Delivered++
	if e.number < l.highest {
		l.counters.Reordered++
	}
	l.highest = max(l.highest, e.number)
	p.callbacks.Deliver(e.packet, e.atNs)
}

// changeUntil makes the changes that are due.
func (p *Path) changeUntil(nowNs int64) {
	for at := p.changeNs(); at <= nowNs && at != never; at = p.changeNs() {
		p.change()
	}
}

// change makes the next change of the schedule.
func (p *Path) change() {
	c := p.schedule[0]
	atNs := p.changeNs()
	p.schedule = p.schedule[1:]
	if c.Line != nil {
		p.lines[c.Station].Line = *c.Line
	}
	if c.Wire == nil {
		return
	}
	shift := p.wire.change(*c.Wire, atNs)
	if shift == nil {
		return
	}
	p.heads = p.heads[:0]
	for i := range p.lines {
		l := &p.lines[i]
		l.shift(shift)
		if head := l.head(); head != nil {
			p.heads.push(*head)
		}
	}
}

// Wire is the shared wire as it is now.
func (p *Path) Wire() Wire { return p.wire.Wire }

// Settle updates the wire's statistics to nowNs. It is needed because a packet leaves the wire's
// queue without an event. All events due until then have been handled.
func (p *Path) Settle(nowNs int64) { p.latestNs = max(p.latestNs, nowNs) }

// WireStatistics returns the statistics of the queue before the wire, up to the latest handled
// time.
func (p *Path) WireStatistics() *queue.Statistics {
	if p.fair != nil {
		s := p.fair.Statistics()
		return &s
	}
	p.wire.settle(p.latestNs)
	return &p.wire.statistics
}

// Counters of a terminal.
func (p *Path) Counters(station int) Counters { return p.lines[station].counters }

// UnderWay is the number of packets that have entered and not arrived.
func (p *Path) UnderWay() int {
	n := 0
	if p.fair != nil {
		n = p.fair.Len()
	}
	for i := range p.lines {
		n += p.lines[i].fifo.count + len(p.lines[i].late)
	}
	return n
}
