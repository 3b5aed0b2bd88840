package screen

import (
	"slices"

	"airtide/internal/diagnose"
	"airtide/internal/stats"
	"airtide/internal/tcp"
)

// connection is the state of one flow in a Table.
type connection struct {
	flow     tcp.Flow
	last     tcp.Sample // all fields absent before the first sample
	state    int64
	stateNs  int64
	ca       int64
	caNs     int64
	closed   bool
	closedNs int64
	reason   tcp.Reason

	acked, received stats.Meter
	errors          [tcp.NumErrorCodes]int64
	retransmits     int64 // events, not the kernel's counter
	history         history
	events          recentEvents

	// The limit of the rate, and the time of its judgement.
	limit     diagnose.Limit
	certainty diagnose.Certainty
	judgedNs  int64

	batch   uint64 // the batch that touched it last, and the row in it
	lastRow int
}

func newConnection(f *tcp.Flow, oneOfMany bool) *connection {
	c := &connection{flow: *f, state: tcp.Absent, ca: tcp.Absent}
	for i := range c.last.Values {
		c.last.Values[i] = tcp.Absent
	}
	points := historyPoints
	events := eventsKept
	if oneOfMany {
		points = historyFew
		events = eventsKeptFew
	}
	c.history.limit = points
	c.events.limit = events
	return c
}

func (c *connection) announceAgain(f *tcp.Flow) {
	old := c.flow
	c.flow = *f
	// An announcement repeats the first congestion control, so a later change is kept.
	if old.CongestionControl != "" {
		c.flow.CongestionControl = old.CongestionControl
	}
	// A socket that outlives its process keeps the owner's name.
	if f.PID == 0 {
		c.flow.PID = old.PID
		c.flow.Comm = old.Comm
	}
}

func (c *connection) take(s *tcp.Sample, windowNs int64) {
	c.last = *s
	// A separate hook reports a change of state before the next ACK does.
	if v, ok := s.Get(tcp.StateField); ok && s.TimeNs >= c.stateNs {
		c.state = v
		c.stateNs = s.TimeNs
	}
	if v, ok := s.Get(tcp.CAStateField); ok && s.TimeNs >= c.caNs {
		c.ca = v
		c.caNs = s.TimeNs
	}
	if v, ok := s.Get(tcp.AckedBytes); ok {
		c.acked.Add(s.TimeNs, v, windowNs)
	}
	if v, ok := s.Get(tcp.ReceivedBytes); ok {
		c.received.Add(s.TimeNs, v, windowNs)
	}
}

func (c *connection) happened(e *tcp.Event) {
	if e.Code != tcp.CodeNone && int(e.Code) < len(c.errors) {
		c.errors[e.Code]++
	}
	switch e.Kind {
	case tcp.EventOpen, tcp.EventState:
		if e.TimeNs >= c.stateNs {
			c.state = int64(e.To)
			c.stateNs = e.TimeNs
		}
	case tcp.EventCAState:
		if e.TimeNs >= c.caNs {
			c.ca = int64(e.To)
			c.caNs = e.TimeNs
		}
	case tcp.EventRetransmit:
		c.retransmits++
	case tcp.EventCCChange:
		c.flow.CongestionControl = e.Text
	case tcp.EventClose:
		// The end of an observation is not the end of the connection.
		if e.Reason != tcp.ReasonStillOpen && !c.closed {
			c.closed = true
			c.closedNs = e.TimeNs
			c.reason = e.Reason
		}
	}
	c.events.add(e)
}

// youngerThan reports if the flow was first seen after a time. Its rates are then still unknown.
func (c *connection) youngerThan(ns int64) bool { return c.flow.FirstNs > ns }

// RecentEvent is an event of a flow's recent past. Acknowledgements of the same kind that follow
// one another are one entry, so that a burst of SACKs does not push everything else out.
type RecentEvent struct {
	tcp.Event
	Count int // number of merged events
}

// recentEvents is a ring of the last events; its memory grows up to the limit.
type recentEvents struct {
	ring  []RecentEvent
	next  int // index of the oldest, once the ring is full
	limit int
}

func (r *recentEvents) add(e *tcp.Event) {
	if n := len(r.ring); n > 0 && (e.Kind == tcp.EventSack || e.Kind == tcp.EventDupAck) {
		if newest := &r.ring[(r.next+n-1)%n]; newest.Kind == e.Kind && newest.CAState == e.CAState {
			newest.Event = *e
			newest.Count++
			return
		}
	}
	entry := RecentEvent{Event: *e, Count: 1}
	if len(r.ring) < r.limit {
		r.ring = append(r.ring, entry)
		return
	}
	r.ring[r.next] = entry
	r.next = (r.next + 1) % len(r.ring)
}

func (r *recentEvents) all() []RecentEvent {
	return slices.Concat(r.ring[r.next:], r.ring[:r.next])
}
