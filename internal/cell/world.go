package cell

import (
	"fmt"
	"math"
	"math/rand/v2"

	"airtide/internal/cell/engine"
	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
	"airtide/internal/cell/queue"
)

// World is the cell with its path in virtual time. Terminals with a radio have the lowest station
// numbers, then come those on Ethernet; each kind keeps the order of the configuration.
//
// A packet from a radio crosses the medium to the access point. If it is for another radio, it
// crosses the medium again through the access point's queue. Otherwise it goes up the path: the
// line of its terminal, then the shared wire. A packet for a terminal comes down the path and, if
// the terminal has a radio, over the medium. An Ethernet terminal is at the near end of the wire: a
// packet to another terminal goes up the path, turns round at the far end, and comes down.
type World struct {
	callbacks engine.Callbacks
	radios    int
	medium    *medium.Medium // nil without radios
	ap        queue.Thinnable
	thinning  bool
	sharing   *windowSharing // nil where the access point does not share windows
	up, down  *path.Path
	flows     flowTable

	entered, left int64
	names         []string // one per station
	drops         []Drops  // one per station
	order         []int    // station numbers in the order of the configuration
	base, seen    *Status  // status at Begin, and at the last Observe
}

var (
	_ engine.Observed = (*World)(nil)
	_ engine.Beginner = (*World)(nil)
)

// NewWorld makes the world that a configuration describes, at time zero.
func NewWorld(c Config, callbacks engine.Callbacks) (*World, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	order, radios := c.stations()
	w := &World{
		callbacks: callbacks, radios: radios, order: order, drops: make([]Drops, len(order)),
		names: make([]string, len(order)),
		flows: newFlowTable(&c), thinning: c.AP.AckThinning,
	}
	if c.AP.WindowSharing {
		w.sharing = newWindowSharing(c.AP.Limit)
	}
	terminals := make([]*Terminal, len(order))
	for i, station := range order {
		terminals[station] = &c.Terminals[i]
		w.names[station] = c.Terminals[i].Name
	}
	// Each part has its own random sequence, so one part does not depend on the traffic of others.
	random := rand.NewPCG(c.Seed, 0)
	if err := w.makeMedium(
		&c, terminals[:radios], rand.New(rand.NewPCG(random.Uint64(), random.Uint64())),
	); err != nil {
		return nil, err
	}
	var err error
	up := path.Callbacks{Deliver: w.atServers, Drop: w.drop, Copy: w.copy}
	w.up, err = path.New(pathConfig(c.WireUp, terminals, true), rand.NewPCG(random.Uint64(), random.Uint64()), up)
	if err != nil {
		return nil, fmt.Errorf("setting up the path towards the servers: %w", err)
	}
	down := path.Callbacks{Deliver: w.atTerminals, Drop: w.drop, Copy: w.copy}
	w.down, err = path.New(pathConfig(c.WireDown, terminals, false), rand.NewPCG(random.Uint64(), random.Uint64()),
		down)
	if err != nil {
		return nil, fmt.Errorf("setting up the path towards the terminals: %w", err)
	}
	w.base = w.newStatus()
	w.seen = w.newStatus()
	return w, nil
}

// Push lets a packet enter.
func (w *World) Push(p *queue.Packet, nowNs int64) {
	w.entered++
	if w.thinning && p.Ack {
		p.AckNumber, p.Ack = acknowledges(p.Data)
	}
	switch {
	case !p.Up:
		w.down.Push(p, nowNs)
	case p.Station < w.radios:
		w.medium.Push(p, nowNs)
	default:
		w.up.Push(p, nowNs)
	}
}

// Next returns the time of the next event, or math.MaxInt64 if there is none.
func (w *World) Next() int64 {
	next := min(w.up.Next(), w.down.Next())
	if w.medium != nil {
		next = min(next, w.medium.Next())
	}
	return next
}

// Advance handles every event that is due up to and including now, in order of time. At the same
// time the medium comes first, then the way up, then the way down.
func (w *World) Advance(nowNs int64) {
	for {
		air := int64(math.MaxInt64)
		up := w.up.Next()
		down := w.down.Next()
		if w.medium != nil {
			air = w.medium.Next()
		}
		at := min(air, up, down)
		switch {
		case at > nowNs || at == math.MaxInt64:
			return
		case at == air:
			w.medium.Advance(at)
		case at == up:
			w.up.Advance(at)
		default:
			w.down.Advance(at)
		}
	}
}

// Room returns the number of packets that a station's queue can still take. An Ethernet station has
// no limit; a switch drops packets that the wire cannot take.
func (w *World) Room(station int) int {
	if station >= w.radios {
		return math.MaxInt
	}
	return w.medium.Free(station)
}

// offAir handles a packet that has crossed the medium.
func (w *World) offAir(p *queue.Packet, atNs int64) {
	if !p.Up {
		w.deliver(p, atNs)
		return
	}
	if w.sharing != nil {
		w.sharing.pass(p, atNs)
	}
	if to := w.callbacks.StationOf(p); to >= 0 && to < w.radios {
		p.Station = to
		p.Up = false
		w.medium.Push(p, atNs)
		return
	}
	w.up.Push(p, atNs)
}

// atServers is the far end of the wire.
func (w *World) atServers(p *queue.Packet, atNs int64) {
	if to := w.callbacks.StationOf(p); to >= 0 {
		p.Station = to
		p.Up = false
		w.down.Push(p, atNs)
		return
	}
	w.deliver(p, atNs)
}

// atTerminals is the near end of the wire.
func (w *World) atTerminals(p *queue.Packet, atNs int64) {
	if p.Station < w.radios {
		if w.sharing != nil {
			w.sharing.pass(p, atNs)
		}
		w.medium.Push(p, atNs)
		return
	}
	w.deliver(p, atNs)
}

func (w *World) deliver(p *queue.Packet, atNs int64) {
	w.left++
	w.flows.count(p)
	w.callbacks.Deliver(p, atNs)
}

func (w *World) drop(p *queue.Packet, at queue.Place, atNs int64) {
	w.left++
	w.drops[p.Station].add(at)
	w.callbacks.Drop(p, at, atNs)
}

func (w *World) copy(p *queue.Packet) *queue.Packet {
	second := w.callbacks.Copy(p)
	if second != nil {
		w.entered++
	}
	return second
}

// Begin is time zero: the schedules start and everything counts from here.
func (w *World) Begin(nowNs int64) {
	if w.medium != nil {
		w.medium.Begin(nowNs)
	}
	w.up.Begin(nowNs)
	w.down.Begin(nowNs)
	w.observe(w.base, nowNs)
}
