package share

import (
	"fmt"
	"net/netip"
	"os"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/message"
)

// Status is how an agent is doing.
type Status struct {
	Time   time.Time      `json:"time"`
	PID    int            `json:"pid"`
	Policy control.Policy `json:"policy"`
	Cell   string         `json:"cell"` // the tag of its key
	// Held says that bounds are in force; else Why says why not.
	Held bool   `json:"held"`
	Why  string `json:"why,omitempty"`
	// Own and Peers are the terminals, as they say of themselves.
	Own   Terminal   `json:"own"`
	Peers []Terminal `json:"peers"`
	// Elsewhere is how many terminals are heard that are at another access point and so do not
	// count.
	Elsewhere int `json:"elsewhere,omitempty"`
	// ShareBps is the terminal's, TotalBps the sum of all shares.
	ShareBps float64 `json:"share_bps"`
	TotalBps float64 `json:"total_bps"`
	// CapacityBps is what the wire is found to carry; absent while it is not known to limit.
	CapacityBps float64 `json:"capacity_bps,omitempty"`
	// Limit is what keeps shares from being greater: airtime, wire, both or demand.
	Limit         string   `json:"limit,omitempty"`
	QueueTargetUs int64    `json:"queue_target_us,omitempty"`
	Correction    float64  `json:"correction,omitempty"`
	Windows       []Window `json:"windows"`
	// Turn is what all do together just now: solo, still or free; absent else.
	Turn string `json:"turn,omitempty"`
	// Foreign says that somebody who does not take part has queues stand: windows are then as large
	// as that needs.
	Foreign bool `json:"foreign,omitempty"`
	// Effect is what bounds were found to be worth when they were lifted last to compare; absent
	// before.
	Effect    *Effect        `json:"effect,omitempty"`
	Datagrams map[string]int `json:"datagrams"` // received, by what became of them
}

// Effect compares the cell with bounds and without: what all terminals deliver, and the mean of
// their round-trip times, weighted by rates.
type Effect struct {
	TotalWithBps    float64 `json:"total_with_bps"`
	TotalWithoutBps float64 `json:"total_without_bps"`
	RTTWithUs       int64   `json:"rtt_with_us"`
	RTTWithoutUs    int64   `json:"rtt_without_us"`
	// LeastPart is the least part of its rate without bounds that a terminal has with them, of
	// those that want all; absent where there is none.
	LeastPart float64 `json:"least_part,omitempty"`
	Helps     bool    `json:"helps"`
}

// Terminal is one of the cell.
type Terminal struct {
	Address string  `json:"address,omitempty"`
	State   string  `json:"state"`
	MaxBps  float64 `json:"max_bps"`
	// MaxSource is how it knows: unknown, phy, measured or configured.
	MaxSource string `json:"max_source"`
	// RateBps is what it carries, in both directions together.
	RateBps     float64 `json:"rate_bps"`
	UploadBps   float64 `json:"upload_bps"`
	DownloadBps float64 `json:"download_bps"`
	// DemandBps is beyond what it would not send; absent when it takes all.
	DemandBps float64 `json:"demand_bps,omitempty"`
	MinRTTUs  int64   `json:"min_rtt_us"`
	RTTUs     int64   `json:"rtt_us"`
	RTT95Us   int64   `json:"rtt_p95_us,omitempty"`
	// BoundBps is the share that it keeps to; absent where it keeps to none.
	BoundBps float64 `json:"bound_bps,omitempty"`
	// PHYBps is the rate of its radio, where that is known.
	PHYBps float64 `json:"phy_bps,omitempty"`
	// QueuedBytes are written and not acknowledged.
	QueuedBytes int64 `json:"queued_bytes"`
	// Retransmits are the segments sent again and Errors the errors of the codes 1 to 4, since its
	// session began.
	Retransmits int64    `json:"retransmits"`
	Errors      [4]int64 `json:"errors_by_code"`
}

// Window is the bound of one flow.
type Window struct {
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	// Packets is the most that may be on their way, of a flow that sends; ReceiveBytes the largest
	// receive window, of one that receives. One that does both is there twice.
	Packets      uint32 `json:"cwnd_max_packets,omitempty"`
	ReceiveBytes uint32 `json:"rwnd_max_bytes,omitempty"`
}

// publishWaiting shows that the agent waits, and why.
func (c *Config) publishWaiting(reason string) {
	if c.Step != nil {
		s := Status{Why: reason, Peers: []Terminal{}, Windows: []Window{}, Datagrams: map[string]int{}}
		s.describe(c)
		c.Step(s)
	}
}

// publish tells the user, and those who look on, what the last step decided.
func (a *agent) publish(counts [message.NumReasons]uint64) {
	if reason := a.out.Reason; reason != a.told {
		a.told = reason
		if reason != "" {
			a.config.Notice("no bounds: " + reason)
		} else {
			a.config.Notice(fmt.Sprintf("sharing with %d others", len(a.reports.peers)))
		}
	}
	if a.config.Step != nil {
		a.config.Step(a.statusOf(counts))
	}
}

// statusOf is the status after the last step. counts are the received datagrams.
func (a *agent) statusOf(counts [message.NumReasons]uint64) (s Status) {
	v := &a.out.View
	s.describe(&a.config)
	s.Held, s.Why, s.Elsewhere, s.Own = a.out.Reason == "", a.out.Reason, a.reports.elsewhere, seen(a.out.Report)
	s.Peers = make([]Terminal, 0, len(a.reports.peers))
	for _, p := range a.reports.peers {
		t := seen(p.Report)
		t.Address = p.Source.Addr().String()
		s.Peers = append(s.Peers, t)
	}
	s.ShareBps, s.TotalBps, s.CapacityBps, s.Limit = v.ShareBps, v.TotalBps, v.WireBps, v.Limit
	s.QueueTargetUs, s.Correction, s.Foreign = v.QueueTargetUs, v.Correction, v.ForeignQueues
	if v.Probe != message.NoProbe {
		s.Turn = v.Probe.String()
	}
	if e := v.Benefit; e != nil {
		s.Effect = &Effect{e.With.Total, e.Without.Total, e.With.RTT.Microseconds(), e.Without.RTT.Microseconds(), e.Least, e.Helps()}
	}
	s.Windows = []Window{}
	for _, b := range a.out.Send {
		s.Windows = append(s.Windows, Window{Local: b.Local, Remote: b.Remote, Packets: b.Packets})
	}
	for _, b := range v.Receive {
		s.Windows = append(s.Windows, Window{Local: b.Local, Remote: b.Remote, ReceiveBytes: b.Bytes})
	}
	s.Datagrams = map[string]int{}
	for reason, n := range counts {
		if n > 0 {
			s.Datagrams[message.Reason(reason).String()] = int(n)
		}
	}
	return s
}

// describe fills in whose status it is, and when.
func (s *Status) describe(c *Config) {
	s.Time, s.PID, s.Policy, s.Cell = time.Now(), os.Getpid(), c.Policy, c.Key.Tag().String()
}

func seen(r message.Report) Terminal {
	t := Terminal{
		State: r.State.String(), MaxBps: r.MaxKbps.Bps(), MaxSource: r.MaxSource.String(), RateBps: r.UploadKbps.Bps() + r.DownloadKbps.Bps(),
		UploadBps: r.UploadKbps.Bps(), DownloadBps: r.DownloadKbps.Bps(), MinRTTUs: int64(r.MinRTTUs), RTTUs: int64(r.SmoothedRTTUs),
		RTT95Us: int64(r.RTT95Us), BoundBps: r.BoundKbps.Bps(), PHYBps: r.PHYKbps.Bps(), QueuedBytes: int64(r.QueuedBytes), Retransmits: int64(r.Retransmissions),
	}
	for i, n := range r.Errors {
		t.Errors[i] = int64(n)
	}
	if r.ApplicationLimited {
		t.DemandBps = r.DemandKbps.Bps()
	}
	return t
}
