package flow

import (
	"net/netip"
	"time"

	"airtide/internal/tcp"
)

// Sample is what one open flow did since the last step.
type Sample struct {
	ID            tcp.FlowID     `json:"id"`
	Local         netip.AddrPort `json:"local"`
	Remote        netip.AddrPort `json:"remote"`
	MSS           int            `json:"mss,omitempty"` // bytes; 0 while it is not known
	SendRate      float64        `json:"send,omitempty"`
	ReceiveRate   float64        `json:"receive,omitempty"` // acknowledged and received payload, in bit/s
	Greedy        bool           `json:"greedy,omitempty"`  // its window was full while more data waited
	MinRTT        time.Duration  `json:"min_rtt,omitempty"` // the kernel's, of the last minutes or of the handshake; 0: not known
	MeanRTT       time.Duration  `json:"mean_rtt,omitempty"`
	LeastRTT      time.Duration  `json:"least_rtt,omitempty"`    // mean and least of the step; 0 without any
	ReceiverRTT   time.Duration  `json:"receiver_rtt,omitempty"` // the kernel's estimate for received data; 0 without any
	ReceiveWindow WindowSample   `json:"receive_window,omitzero"`
}

// WindowSample is what was measured of a receive window since the last step. The zero value means
// that nothing was measured.
type WindowSample struct {
	MeanRTT  time.Duration `json:"mean_rtt,omitempty"`
	LeastRTT time.Duration `json:"least_rtt,omitempty"`
	InUse    float64       `json:"in_use,omitempty"` // part of the round trips that used the whole window
}

// HostSample sums up all flows since the last step, those among them that have ended.
type HostSample struct {
	SendRate    float64                  `json:"send,omitempty"`
	ReceiveRate float64                  `json:"receive,omitempty"` // bit/s
	MeanRTT     time.Duration            `json:"mean_rtt,omitempty"`
	RTT95       time.Duration            `json:"rtt95,omitempty"`  // of sending flows; 0 without any
	QueuedBytes int64                    `json:"queued,omitempty"` // written and not acknowledged
	Retransmits int64                    `json:"retransmits,omitempty"`
	Errors      [tcp.NumErrorCodes]int64 `json:"errors,omitzero"` // by error code
}
