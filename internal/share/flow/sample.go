package flow

import (
	"net/netip"
	"time"

	"airtide/internal/tcp"
)

// Sample is the activity of an open flow since the last step. Rates are in bit/s of payload.
type Sample struct {
	ID            tcp.FlowID     `json:"id"`
	Local         netip.AddrPort `json:"local"`
	Remote        netip.AddrPort `json:"remote"`
	MSS           int            `json:"mss,omitempty"`          // bytes, 0 if unknown
	SendRate      float64        `json:"send,omitempty"`         // acknowledged
	ReceiveRate   float64        `json:"receive,omitempty"`      // received
	Greedy        bool           `json:"greedy,omitempty"`       // the window was full while more data waited
	SendLost      int64          `json:"send_lost,omitempty"`    // packets that were sent again
	ReceiveLost   int64          `json:"receive_lost,omitempty"` // packets that came after a missing one
	MinRTT        time.Duration  `json:"min_rtt,omitempty"`      // the kernel's minimum, 0 if unknown
	MeanRTT       time.Duration  `json:"mean_rtt,omitempty"`     // mean RTT of the step, 0 if unknown
	LeastRTT      time.Duration  `json:"least_rtt,omitempty"`    // least RTT of the step, 0 if unknown
	ReceiverRTT   time.Duration  `json:"receiver_rtt,omitempty"` // the kernel's estimate for received data
	ReceiveWindow WindowSample   `json:"receive_window,omitzero"`
}

// losesSent reports whether the flow sends and loses packets.
func (s *Sample) losesSent() bool { return s.SendLost > 0 && s.SendRate > 0 }

// losesReceived reports whether the flow receives and packets are missing.
func (s *Sample) losesReceived() bool { return s.ReceiveLost > 0 && s.ReceiveRate > 0 }

// WindowSample is the measurement of a receive window since the last step. The zero value means
// that there is none.
type WindowSample struct {
	MeanRTT  time.Duration `json:"mean_rtt,omitempty"`
	LeastRTT time.Duration `json:"least_rtt,omitempty"`
	InUse    float64       `json:"in_use,omitempty"` // part of the round trips with a full window
}

// HostSample sums up all flows since the last step, including ended flows.
type HostSample struct {
	SendRate    float64                  `json:"send,omitempty"`
	ReceiveRate float64                  `json:"receive,omitempty"`  // bit/s
	MeanRTT     time.Duration            `json:"mean_rtt,omitempty"` // mean RTT of sending flows, 0 if unknown
	RTT95       time.Duration            `json:"rtt95,omitempty"`    // 95th percentile
	QueuedBytes int64                    `json:"queued,omitempty"`   // written, not acknowledged
	Retransmits int64                    `json:"retransmits,omitempty"`
	Errors      [tcp.NumErrorCodes]int64 `json:"errors,omitzero"` // index: error code
}
