package diagnose

import (
	"fmt"
	"slices"
)

// Limit is the limit of a connection's rate. The names stand in JSON and in tables.
type Limit uint8

// The limits. limitTable describes each.
const (
	Unknown Limit = iota
	Handshake
	Idle
	Application
	RoundTrips
	Nagle
	ReceivingApplication
	ReceiveWindow
	SendBuffer
	CwndBound
	SlowStart
	RandomLoss
	ShallowQueue
	Timeout
	Stall
	Reordering
	Pacing
	OwnQueue
	OwnDevice
	NetworkQueue
	SharedCapacity
	Capacity
	NoData
	Gaps
	SenderOrNetwork
	SenderHost
	AckBacklog
	RadioLimit
	Teardown
	PathMTU
	UnfairSharing
	numLimits
)

// limitInfo describes a limit.
type limitInfo struct {
	name string
	// says is the verdict's sentence.
	says string
}

var limitTable = [numLimits]limitInfo{
	Unknown:   {"unknown", "The data does not show the limit."},
	Handshake: {"handshake", "The connection spent its time on its handshake."},
	Idle:      {"idle", "The connection was idle: no program sent data."},
	Application: {
		"application", "The sending program limits the rate: it gave TCP no more data.",
	},
	RoundTrips: {
		"round trips", "Request and answer take turns: each exchange costs a round trip, and no window is full.",
	},
	Nagle: {
		"Nagle", "Nagle's algorithm or TCP_CORK holds back small segments, until an acknowledgement or a timer.",
	},
	ReceivingApplication: {
		"receiving application", "The receiving program reads too slowly: it lets the window close.",
	},
	ReceiveWindow: {"receive window", "The receive window is too small for this round-trip time."},
	SendBuffer:    {"send buffer", "The send buffer is too small for this round-trip time."},
	CwndBound:     {"bounded cwnd", "The congestion window is full and does not grow: something bounds it."},
	SlowStart:     {"slow start", "The transfer ended before slow start had found the capacity of the path."},
	RandomLoss: {
		"random loss", "Packets are lost although no queue is full: the congestion window shrinks without congestion.",
	},
	ShallowQueue: {
		"shallow queue", "A short queue overflows: the congestion window shrinks before it fills the path.",
	},
	Timeout:    {"timeouts", "The sender waits for its retransmission timer."},
	Stall:      {"path pauses", "The path pauses: packets are held back together, and none is lost."},
	Reordering: {"reordering", "Packets overtake each other: the sender takes late packets for lost ones."},
	Pacing:     {"pacing", "A pacing rate limits the sender (SO_MAX_PACING_RATE)."},
	OwnQueue:   {"own queue", "The queue of this host's interface limits the rate and holds the packets."},
	OwnDevice:  {"own device", "This host's device or its queue refuses packets."},
	NetworkQueue: {
		"network queue", "The path's capacity is reached, and packets wait long in a queue of the network.",
	},
	SharedCapacity: {
		"shared capacity", "The connection shares the path's capacity with others.",
	},
	Capacity: {"capacity", "The path's capacity is reached."},
	NoData:   {"no data came", "The peer sent nothing for most of the time."},
	Gaps:     {"gaps", "Packets are missing or late on the way to this receiver."},
	SenderOrNetwork: {
		"sender or network", "This receiver limits nothing: the sender or the path sets the rate.",
	},
	SenderHost: {
		"sender's host", "The sender keeps less in flight than the peer and the path allow.",
	},
	AckBacklog: {
		"ACK backlog", "Acknowledgements wait on their way back: the way of the data has room.",
	},
	RadioLimit: {
		"radio", "The radio limits: its rate fell, it repeats or loses frames, it is away, or others hold it up.",
	},
	Teardown: {"teardown", "The connection spent its time on its end: on FINs and their acknowledgements."},
	PathMTU: {
		"path MTU", "Full segments never arrive, though shorter ones do: a link of the path has a smaller MTU.",
	},
	UnfairSharing: {
		"unfair sharing", "The bottleneck is shared unequally: another connection gets most of its rate or airtime.",
	},
}

func (l Limit) String() string {
	if l < numLimits {
		return limitTable[l].name
	}
	return fmt.Sprintf("limit_%d", l)
}

// Sentence is the verdict in one sentence.
func (l Limit) Sentence() string { return limitTable[min(l, numLimits-1)].says }

// MarshalText lets a Limit stand in JSON by name.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (l *Limit) UnmarshalText(text []byte) error {
	parsed, err := ParseLimit(string(text))
	*l = parsed
	return err
}

// ParseLimit is the inverse of String.
func ParseLimit(name string) (Limit, error) {
	for l := range numLimits {
		if limitTable[l].name == name {
			return l, nil
		}
	}
	return Unknown, fmt.Errorf("unknown limit %q", name)
}

// Certainty tells how sure a verdict is.
type Certainty uint8

// The certainties.
const (
	Guess Certainty = iota
	Likely
	Certain
)

var certaintyNames = [...]string{"unknown", "likely", "certain"}

func (c Certainty) String() string { return certaintyNames[min(c, Certain)] }

// MarshalText lets a Certainty stand in JSON by name.
func (c Certainty) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (c *Certainty) UnmarshalText(text []byte) error {
	at := slices.Index(certaintyNames[:], string(text))
	if at < 0 {
		return fmt.Errorf("unknown certainty %q", text)
	}
	*c = Certainty(at)
	return nil
}
