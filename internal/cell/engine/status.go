package engine

import (
	"encoding/json"
	"fmt"

	"airtide/internal/cell/queue"
)

// Status is the state of an engine. Its counts begin at Begin, or at the start of the engine before
// that. The lags begin at the last Reset or Begin.
type Status struct {
	// TimeNs is the virtual time that has passed.
	TimeNs int64 `json:"time_ns"`
	// BeginNs is the time of Begin by CLOCK_MONOTONIC, the clock of recordings. The status was
	// taken at BeginNs + TimeNs.
	BeginNs int64        `json:"begin_ns"`
	Ports   []PortStatus `json:"ports"`
	// Dropped packets, by queue.Place.
	Dropped [queue.NumPlaces]uint64 `json:"dropped"`

	// Lag is the delay of packets that left the world, against their virtual time.
	Lag        Lateness `json:"lag"`
	LagLimitNs int64    `json:"lag_limit_ns"`
	// LagExceeded means that the run is invalid: more than 1 % of the packets were later than the
	// limit, or more than 0.1 % were later than ten times the limit.
	LagExceeded bool `json:"lag_exceeded"`
	// Wake is the delay of the engine's wake-ups. Turn is the busy time between two waits; a packet
	// may wait that long to be read.
	Wake Lateness `json:"wake"`
	Turn Lateness `json:"turn"`

	Slots    int `json:"slots"`
	SlotsLow int `json:"slots_low"` // the fewest that were free
	// Exhausted packets were lost because all slots were under way.
	Exhausted uint64 `json:"exhausted"`
	// CPUNs is the processor time of the engine's thread.
	CPUNs int64 `json:"cpu_ns"`

	// Warnings describes the engine's problems in words.
	Warnings []string `json:"warnings,omitempty"`
	// World is the observation of an Observed world.
	World json.RawMessage `json:"world,omitempty"`
}

// PortStatus is a port's counts.
type PortStatus struct {
	Name string `json:"name"`
	PortCounts
}

// snapshot is the loop's own numbers, copied on its thread.
type snapshot struct {
	timeNs          int64 // since begin
	beginNs         int64 // in virtual time
	counts          []PortCounts
	dropped         [queue.NumPlaces]uint64
	lag, wake, turn histogram
	low             int
	exhausted       uint64
	cpuNs           int64
}

func (s *snapshot) take(l *loop) {
	now := l.now()
	if l.world.Next() <= now {
		l.world.Advance(now)
	}
	s.timeNs = now - l.beginNs
	s.beginNs = l.beginNs
	for i, p := range l.ports {
		s.counts[i] = p.counts
	}
	s.dropped = l.dropped
	s.low = l.pool.low
	s.exhausted = l.pool.exhausted
	s.lag = l.lag
	s.wake = l.wake
	s.turn = l.turn
	s.cpuNs = l.cpuNs() - l.beginCPUNs
	if o, ok := l.world.(Observed); ok {
		o.Observe(now)
	}
}

// status combines the loop's counters with the kernel's counters.
func (e *process) status() (*Status, error) {
	if !e.loop.command(orderCopy) {
		return nil, e.ended()
	}
	s := &e.loop.copied
	status := &Status{
		TimeNs: s.timeNs, BeginNs: e.loop.startNs + s.beginNs, Dropped: s.dropped, Slots: len(e.loop.pool.slots),
		SlotsLow: s.low, Exhausted: s.exhausted,
		Lag: s.lag.lateness(), Wake: s.wake.lateness(), Turn: s.turn.lateness(), CPUNs: s.cpuNs,
		LagLimitNs: int64(e.config.LagLimit), Warnings: e.warnings,
	}
	status.LagExceeded = status.Lag.exceeds(status.LagLimitNs)
	var lost uint64
	for i, p := range e.loop.ports {
		counts := s.counts[i]
		// The two counters overlap in part: neither contains all losses of the other.
		counts.KernelDropped = max(counts.KernelDropped, p.lostSinceBegin())
		if p.credit != nil {
			counts.Refused = p.credit.refused() - p.credit.refusedBefore
		}
		lost += counts.KernelDropped
		status.Ports = append(status.Ports, PortStatus{p.Name, counts})
	}
	status.warn(lost)
	if o, ok := e.loop.world.(Observed); ok {
		world, err := json.Marshal(o.Observation())
		if err != nil {
			return nil, fmt.Errorf("encoding the observation of the world: %w", err)
		}
		status.World = world
	}
	return status, nil
}

func (s *Status) warn(lost uint64) {
	add := func(format string, values ...any) { s.Warnings = append(s.Warnings, fmt.Sprintf(format, values...)) }
	if s.LagExceeded {
		add("the engine fell behind: %s; run less beside it, or a smaller cell", s.Lag.Against(s.LagLimitNs))
	}
	if s.Exhausted > 0 {
		add("lost packets, because all %d slots were under way: %d; give the engine more slots", s.Slots, s.Exhausted)
	}
	if lost > 0 {
		add("lost packets, on their way into the engine: %d", lost)
	}
}
