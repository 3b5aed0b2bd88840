package control

import (
	"net/netip"
	"time"

	"airtide/internal/share/flow"
	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

// Config is the configuration of a core.
type Config struct {
	Policy Policy `json:"policy"`
	// Options configure the allocation.
	Options Options `json:"options"`
	// Weight is the terminal's weight in the allocation.
	Weight float64 `json:"weight"`
	// StandaloneBps is the configured standalone rate in bit/s; 0: it follows from the radio, or is
	// unknown.
	StandaloneBps float64 `json:"standalone_bps,omitempty"`
	// CapacityBps is the rate in bit/s that equal-cap and equal-range divide.
	CapacityBps float64 `json:"capacity_bps,omitempty"`
	// SingleFrames means that the radio sends each packet by itself. It overrides Inputs.Radio.
	SingleFrames bool `json:"single_frames,omitempty"`
	// BoundReceive means that the kernel can bound receive windows.
	BoundReceive bool `json:"bound_receive"`
	// Session orders the terminal among its peers.
	Session uint64 `json:"session"`
}

// Inputs are the measurements and reports of one step.
type Inputs struct {
	Flows []flow.Sample   `json:"flows"`
	Host  flow.HostSample `json:"host"`
	Radio Radio           `json:"radio"`
	// Peers are the newest reports of the other terminals at this access point, in order of their
	// sessions.
	Peers []message.Peer `json:"peers"`
	// Silence is the time since any of them was heard. Above SilenceLimit bounds are lifted.
	Silence      time.Duration `json:"silence"`
	SilenceLimit time.Duration `json:"silence_limit"`
	// MayReportEarly means that an extra report may be sent now.
	MayReportEarly bool `json:"may_report_early"`
	// Ready means that bounds can be set.
	Ready bool `json:"ready"`
	// UnboundFlows is the number of this terminal's flows that could not be bounded. While there
	// are any, an RTT probe measures their queues.
	UnboundFlows int `json:"unbound_flows,omitempty"`
	// NewAccessPoint means that the terminal has moved to another cell since the last step.
	NewAccessPoint bool `json:"new_access_point,omitempty"`
}

// Radio is the state of the radio. Zero values are unknown.
type Radio struct {
	PHYBps        float64 `json:"phy_bps,omitempty"`
	StandaloneBps float64 `json:"standalone_bps,omitempty"` // goodput of TCP at that rate
	SingleFrames  bool    `json:"single_frames,omitempty"`
	// Busy is the part of the last second in which the channel was busy, by anybody's frames.
	Busy float64 `json:"busy,omitempty"`
}

// Outputs are the decisions of one step.
type Outputs struct {
	// Send and Receive are the bounds in force; Receive also lists the flows that are only
	// measured.
	Send    []SendBound    `json:"send"`
	Receive []ReceiveBound `json:"receive"`
	// Reason is the reason why nothing is bounded; "" if bounds are in force.
	Reason string `json:"reason,omitempty"`
	// Report is the next report. The caller fills in the access point and the address families.
	Report message.Report `json:"report"`
	// Probe is announced with the reports until the next step.
	Probe probe.Proposal `json:"probe"`
	// ReportNow asks for an extra report at once.
	ReportNow bool `json:"report_now,omitempty"`
	// NextProbe is when a probe begins or ends next, and a step is due; 0: no probe is planned.
	NextProbe time.Duration `json:"next_probe,omitempty"`
	// Notices are lines for the user.
	Notices []string `json:"notices,omitempty"`
	View    View     `json:"view"`
}

// SendBound bounds the congestion window of one flow.
type SendBound struct {
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	// Packets is the upper bound, and Least the lower one; 0 is none.
	Packets uint32 `json:"packets"`
	Least   uint32 `json:"least,omitempty"`
}

// ReceiveBound bounds the receive window of one flow.
type ReceiveBound struct {
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	Bytes  uint32         `json:"bytes"` // 0: the flow is only measured
}

// View is the state of a step for the status.
type View struct {
	ShareBps      float64           `json:"share_bps"`
	TotalBps      float64           `json:"total_bps"`
	WireBps       float64           `json:"wire_bps,omitempty"` // 0: not known to limit
	Limit         string            `json:"limit,omitempty"`
	QueueTargetUs int64             `json:"queue_target_us,omitempty"`
	Correction    float64           `json:"correction,omitempty"`
	Receive       []ReceiveBound    `json:"receive"` // those that bound a flow
	Probe         message.ProbeKind `json:"probe,omitempty"`
	ForeignQueues bool              `json:"foreign_queues,omitempty"`
	// Busy is the busy part of the time, and ForeignAirtime the part that is of no participant.
	Busy           float64  `json:"busy,omitempty"`
	ForeignAirtime float64  `json:"foreign_airtime,omitempty"`
	Benefit        *Benefit `json:"benefit,omitempty"`
}
