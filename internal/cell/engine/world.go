package engine

import (
	"encoding/json"

	"airtide/internal/cell/queue"
)

// World is a machine in virtual time: what lies between the ports. Times are nanoseconds from the
// engine's start. The engine calls it from one thread; it must not allocate once it is warm.
type World interface {
	// Push lets a packet enter. Everything due until then has been handled. What comes from a
	// station is to be dropped when there is no Room; that happens where nobody can be made to
	// wait, at an interface Outside.
	Push(p *queue.Packet, nowNs int64)
	// Next is the time of the next event, math.MaxInt64 when there is none.
	Next() int64
	// Advance handles every event that is due up to and including now, in order of time.
	Advance(nowNs int64)
	// Room is how many packets the station's own queue still takes. At 0 the engine leaves what the
	// station sends where it is, with the sender. It changes only in Push and Advance. math.MaxInt
	// says that the queue has no limit.
	Room(station int) int
}

// Beginner is a World with a time zero of its own.
type Beginner interface {
	World
	// Begin says that the run begins now (Engine.Begin): schedules and counts start here. It is
	// called on the engine's thread when everything due until then has been handled, and must be
	// quick. Times go on counting from the engine's start.
	Begin(nowNs int64)
}

// Observed is a World that has something to tell in Status.World.
type Observed interface {
	World
	// Observe copies what is to be told. It is called on the engine's thread and must be quick.
	Observe(nowNs int64)
	// Observation is what was copied, to be encoded as JSON. It is called on another thread, never
	// while Observe runs.
	Observation() any
}

// Callbacks are what the engine lends to a world.
type Callbacks struct {
	// Deliver ends a packet's way: it leaves by the port that its destination address belongs to.
	Deliver func(p *queue.Packet, atNs int64)
	// Drop ends a packet that is lost.
	Drop func(p *queue.Packet, at queue.Place, atNs int64)
	// Copy makes another packet with the same contents that is under way too, nil when there is no
	// slot for it.
	Copy func(p *queue.Packet) *queue.Packet
	// StationOf is the station that a packet is addressed to, NoStation when it goes over the wire.
	StationOf func(p *queue.Packet) int
}

// Builder makes the world that Config.World describes. It is called in the engine's process.
type Builder func(config json.RawMessage, c Callbacks) (World, error)

// NoStation is the station of a port that lies behind the wire.
const NoStation = -1
