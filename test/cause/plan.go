// Package cause makes TCP connections whose rate has a known cause, and records them. Tests and
// measurements of the diagnosis compare its verdicts with these causes.
package cause

import "time"

// Plan is the traffic of one situation. Both ends get the same plan.
type Plan struct {
	// Down reports whether the server sends; else the client does.
	Down bool `json:"down"`
	// For is the time of the traffic.
	For time.Duration `json:"for"`
	// Phases replace the sender's and the reader's pace one after another. Without phases, the pace
	// below holds for all the time.
	Phases []Pace `json:"phases"`
	Pace
	// Sockets.
	SendBuffer    int    `json:"send_buffer"`    // SO_SNDBUF of the sender in bytes; 0: automatic
	ReceiveBuffer int    `json:"receive_buffer"` // SO_RCVBUF of the receiver in bytes; 0: automatic
	WindowClamp   int    `json:"window_clamp"`   // TCP_WINDOW_CLAMP of the receiver in bytes; 0: none
	PacingBps     int64  `json:"pacing_bps"`     // SO_MAX_PACING_RATE of the sender; 0: none
	Congestion    string `json:"congestion"`     // of the sender; empty: the default
	Nagle         bool   `json:"nagle"`          // keep Nagle's algorithm at the sender
	// Request and answer: the client writes Requests in a row, the server answers with Answer bytes
	// when all have come.
	Requests []int `json:"requests"`
	Answer   int   `json:"answer"`
	// Connections is the number of short connections with Size bytes each, one after another.
	Connections int `json:"connections"`
	Size        int `json:"size"`
	// Parallel is the number of connections at a time; 0 means 1.
	Parallel int `json:"parallel"`
}

// Pace is the pace of both programs for a time.
type Pace struct {
	For time.Duration `json:"pace_for"` // of a phase
	// The sender writes WriteBytes each Every. Every is zero for writing as fast as possible, and
	// WriteBytes is zero for no data at all.
	WriteBytes int           `json:"write_bytes"`
	Every      time.Duration `json:"every"`
	// ReadBps is the pace of the reading program in bit/s; 0: as fast as possible.
	ReadBps int64 `json:"read_bps"`
}
