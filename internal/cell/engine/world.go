package engine

import (
	"encoding/json"

	"airtide/internal/cell/queue"
)

// World is everything between the ports, in virtual time. Times are nanoseconds since the engine's
// start. The engine calls it from one thread. It must not allocate memory during a run.
type World interface {
	// Push enters a packet. All events due until then have been handled. A packet from a station is
	// dropped if there is no Room, which only happens at an Outside interface.
	Push(p *queue.Packet, nowNs int64)
	// Next returns the time of the next event, or math.MaxInt64 if there is none.
	Next() int64
	// Advance handles every event that is due up to and including now, in order of time.
	Advance(nowNs int64)
	// Room returns the number of packets that the station's queue can still take. At 0 the engine
	// leaves the packets with the sender. The value changes only in Push and Advance. math.MaxInt
	// means no limit.
	Room(station int) int
}

// Beginner is a World whose schedules start at Engine.Begin.
type Beginner interface {
	World
	// Begin starts the schedules and counters. All events due until then have been handled. It runs
	// on the engine's thread and must be quick. Times still count from the engine's start.
	Begin(nowNs int64)
}

// Observed is a World that has something to tell in Status.World.
type Observed interface {
	World
	// Observe copies the counters. It runs on the engine's thread and must be quick.
	Observe(nowNs int64)
	// Observation returns the copied counters, to be encoded as JSON. It runs on another thread,
	// never at the same time as Observe.
	Observation() any
}

// Callbacks are the functions that the engine offers to a world.
type Callbacks struct {
	// Deliver ends a packet's way: it leaves by the port that its destination address belongs to.
	Deliver func(p *queue.Packet, atNs int64)
	// Drop ends a packet that is lost.
	Drop func(p *queue.Packet, at queue.Place, atNs int64)
	// Copy returns a second packet with the same contents, or nil if no slot is free.
	Copy func(p *queue.Packet) *queue.Packet
	// StationOf is the station that a packet is addressed to, NoStation when it goes over the wire.
	StationOf func(p *queue.Packet) int
}

// Builder makes the world that Config.World describes. It is called in the engine's process.
type Builder func(config json.RawMessage, c Callbacks) (World, error)

// NoStation is the station number of a port behind the wire.
const NoStation = -1
