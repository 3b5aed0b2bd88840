// Package cause makes TCP connections whose rate has a known cause, and records them. Tests and
// measurements of the diagnosis compare its verdicts with these causes.
package cause

import "time"

// Plan is the traffic of one situation. Both ends get the same plan.
type Plan struct {
	// Down reports whether the server sends; else the client does.
	Down bool `json:"down" yaml:"down,omitempty"`
	// For is the time of the traffic.
	For time.Duration `json:"for" yaml:"for"`
	// Phases replace the sender's and the reader's pace one after another. Without phases, the pace
	// below holds for all the time.
	Phases []Pace `json:"phases" yaml:"phases,omitempty"`
	Pace   `yaml:",inline"`
	// Sockets.
	SendBuffer    int    `json:"send_buffer" yaml:"send_buffer,omitempty"`       // SO_SNDBUF of the sender in bytes
	ReceiveBuffer int    `json:"receive_buffer" yaml:"receive_buffer,omitempty"` // SO_RCVBUF of the receiver in bytes
	WindowClamp   int    `json:"window_clamp" yaml:"window_clamp,omitempty"`     // TCP_WINDOW_CLAMP of the receiver
	PacingBps     int64  `json:"pacing_bps" yaml:"pacing_bps,omitempty"`         // SO_MAX_PACING_RATE of the sender
	Congestion    string `json:"congestion" yaml:"congestion,omitempty"`         // the sender's; empty: the default
	Nagle         bool   `json:"nagle" yaml:"nagle,omitempty"`                   // keep Nagle's algorithm at the sender
	Cork          bool   `json:"cork" yaml:"cork,omitempty"`                     // TCP_CORK, never released
	// Request and answer: the client writes Requests in a row, the server answers with Answer bytes
	// when all have come.
	Requests []int `json:"requests" yaml:"requests,flow,omitempty"`
	Answer   int   `json:"answer" yaml:"answer,omitempty"`
	// Connections is the number of short connections with Size bytes each, one after another.
	Connections int `json:"connections" yaml:"connections,omitempty"`
	Size        int `json:"size" yaml:"size,omitempty"`
	// Parallel is the number of connections at a time; 0 means 1.
	Parallel int `json:"parallel" yaml:"parallel,omitempty"`
}

// Pace is the pace of both programs for a time.
type Pace struct {
	For time.Duration `json:"pace_for" yaml:"pace_for,omitempty"` // a phase's duration
	// The sender writes WriteBytes each Every. Every is zero for writing as fast as possible, and
	// WriteBytes is zero for no data at all.
	WriteBytes int           `json:"write_bytes" yaml:"write_bytes,omitempty"`
	Every      time.Duration `json:"every" yaml:"every,omitempty"`
	// ReadBps is the pace of the reading program in bit/s; 0: as fast as possible.
	ReadBps int64 `json:"read_bps" yaml:"read_bps,omitempty"`
}
