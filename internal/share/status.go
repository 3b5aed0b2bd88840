package share

import (
	"net/netip"
	"os"
	"time"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/message"
)

// Status is the state of an agent after a step. Rates are in bit/s.
type Status struct {
	Time   time.Time      `json:"time"`
	PID    int            `json:"pid"`
	Policy control.Policy `json:"policy"`
	Cell   string         `json:"cell"` // tag of the cell's key
	// Bounded reports whether windows are bounded. If not, Reason says why.
	Bounded bool   `json:"bounded"`
	Reason  string `json:"reason,omitempty"`
	// Own and Peers are the terminals, as they report themselves.
	Own   Terminal   `json:"own"`
	Peers []Terminal `json:"peers"`
	// OtherAccessPoints is the number of terminals at other access points. They do not count.
	OtherAccessPoints int `json:"other_access_points,omitempty"`
	// ShareBps is the share of this terminal. TotalBps is the sum of all shares.
	ShareBps float64 `json:"share_bps"`
	TotalBps float64 `json:"total_bps"`
	// WireBps is the capacity of the wire. It is absent unless the wire is known to limit.
	WireBps float64 `json:"wire_bps,omitempty"`
	// Limit names the limit of the shares: airtime, wire, both or demand.
	Limit         string   `json:"limit,omitempty"`
	QueueTargetUs int64    `json:"queue_target_us,omitempty"`
	Correction    float64  `json:"correction,omitempty"`
	Windows       []Window `json:"windows"`
	// Probe is the kind of the running probe: rtt or release. It is absent without a probe.
	Probe string `json:"probe,omitempty"`
	// ForeignQueues means that traffic that no agent bounds waits in the access point.
	ForeignQueues bool `json:"foreign_queues,omitempty"`
	// ChannelBusy is the part of the last second in which the channel was busy. It is absent unless
	// the driver or the PHY rate file tells it. ForeignAirtime is the part that no agent reports.
	ChannelBusy    float64 `json:"channel_busy,omitempty"`
	ForeignAirtime float64 `json:"foreign_airtime,omitempty"`
	// Unbound lists the flows of this terminal that could not be bounded.
	Unbound []UnboundFlow `json:"unbound,omitempty"`
	// Benefit is the result of the last release probe. It is absent before the first.
	Benefit   *Benefit       `json:"benefit,omitempty"`
	Datagrams map[string]int `json:"datagrams"` // received, by outcome
}

// QueueOnly returns the note that bounds of a policy are those of the queue alone, since the
// standalone rate is unknown; "" if they are not. Other policies than control.Shares need no rate.
func QueueOnly(p control.Policy, standaloneBps float64) string {
	if p != control.Shares || standaloneBps > 0 {
		return ""
	}
	return "standalone rate unknown, shares its queue only"
}

// Benefit compares the cell with and without bounds: the sum of the rates of the terminals that
// carried something before the release probe, and the mean round-trip time, weighted by rates.
type Benefit struct {
	TotalWithBps    float64 `json:"total_with_bps"`
	TotalWithoutBps float64 `json:"total_without_bps"`
	RTTWithUs       int64   `json:"rtt_with_us"`
	RTTWithoutUs    int64   `json:"rtt_without_us"`
	// LowestRatio is the lowest ratio of a terminal's rate with bounds to its rate without, among
	// terminals without a demand limit. It is absent if there is none.
	LowestRatio float64 `json:"lowest_ratio,omitempty"`
	Helps       bool    `json:"helps"`
}

// Terminal is a terminal of the cell.
type Terminal struct {
	// Address has a port if another terminal has the same address, behind a hub.
	Address string `json:"address,omitempty"`
	State   string `json:"state"`
	// StandaloneBps is the rate of the terminal alone in the cell, 0 if unknown. StandaloneSource
	// is unknown, phy or configured.
	StandaloneBps    float64 `json:"standalone_bps"`
	StandaloneSource string  `json:"standalone_source"`
	// RateBps is the rate of both directions together.
	RateBps     float64 `json:"rate_bps"`
	UploadBps   float64 `json:"upload_bps"`
	DownloadBps float64 `json:"download_bps"`
	// DemandBps is the highest rate that the terminal needs. It is absent without such a limit.
	DemandBps float64 `json:"demand_bps,omitempty"`
	MinRTTUs  int64   `json:"min_rtt_us"`
	RTTUs     int64   `json:"rtt_us"`
	RTT95Us   int64   `json:"rtt_p95_us,omitempty"` // 95th percentile
	// BoundBps is the share to which the terminal's windows are bounded. It is absent if they are
	// not.
	BoundBps float64 `json:"bound_bps,omitempty"`
	// PHYBps is the rate of the terminal's radio. It is absent if unknown.
	PHYBps float64 `json:"phy_bps,omitempty"`
	// QueuedBytes are written and not yet acknowledged.
	QueuedBytes int64 `json:"queued_bytes"`
	// Retransmits counts segments sent again. Errors counts errors of the codes 1 to 4. Both count
	// from the start of the terminal's session.
	Retransmits int64    `json:"retransmits"`
	Errors      [4]int64 `json:"errors_by_code"`
}

// UnboundFlow is a flow of this terminal that could not be bounded.
type UnboundFlow struct {
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	Reason string         `json:"reason"`
}

// Window is the bound of a flow in one direction.
type Window struct {
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	// Packets is the largest congestion window of a sending flow. ReceiveBytes is the largest
	// receive window of a receiving flow. A flow that does both is listed twice.
	Packets      uint32 `json:"cwnd_max_packets,omitempty"`
	ReceiveBytes uint32 `json:"rwnd_max_bytes,omitempty"`
}

// Starting returns the status of an agent that loads its programs.
func Starting(c *Config) Status {
	s := newStatus(c.Policy, c.Key)
	s.Reason = "starting"
	return s
}

// newStatus returns the status of an agent before its first step.
func newStatus(policy control.Policy, key cellkey.Key) Status {
	return Status{
		Time: time.Now(), PID: os.Getpid(), Policy: policy, Cell: key.Tag().String(),
		Peers: []Terminal{}, Windows: []Window{}, Datagrams: map[string]int{},
	}
}

// update sets the state after a step. counts are the received datagrams, by reason.
func (s *Status) update(out *control.Outputs, peers []message.Peer, counts [message.NumReasons]uint64) {
	v := &out.View
	s.Own = reportedTerminal(out.Report)
	s.Bounded = out.Reason == ""
	s.Reason = out.Reason
	terminals := map[netip.Addr]int{}
	for _, p := range peers {
		terminals[p.Source.Addr()]++
	}
	for _, p := range peers {
		t := reportedTerminal(p.Report)
		t.Address = p.Source.Addr().String()
		if terminals[p.Source.Addr()] > 1 {
			t.Address = p.Source.String() // terminals behind one translated address differ in the port
		}
		s.Peers = append(s.Peers, t)
	}
	s.ShareBps = v.ShareBps
	s.TotalBps = v.TotalBps
	s.WireBps = v.WireBps
	s.Limit = v.Limit
	s.QueueTargetUs = v.QueueTargetUs
	s.Correction = v.Correction
	s.ForeignQueues = v.ForeignQueues
	s.ChannelBusy = v.Busy
	s.ForeignAirtime = v.ForeignAirtime
	if v.Probe != message.NoProbe {
		s.Probe = v.Probe.String()
	}
	if e := v.Benefit; e != nil {
		s.Benefit = &Benefit{
			TotalWithBps: e.With.Total, TotalWithoutBps: e.Without.Total, RTTWithUs: e.With.RTT.Microseconds(),
			RTTWithoutUs: e.Without.RTT.Microseconds(), LowestRatio: e.Least, Helps: e.Helps(),
		}
	}
	for _, b := range out.Send {
		s.Windows = append(s.Windows, Window{Local: b.Local, Remote: b.Remote, Packets: b.Packets})
	}
	for _, b := range v.Receive {
		s.Windows = append(s.Windows, Window{Local: b.Local, Remote: b.Remote, ReceiveBytes: b.Bytes})
	}
	for reason, n := range counts {
		if n > 0 {
			s.Datagrams[message.Reason(reason).String()] = int(n)
		}
	}
}

// reportedTerminal returns a report's values of its terminal.
func reportedTerminal(r message.Report) Terminal {
	t := Terminal{
		State: r.State.String(), StandaloneBps: r.MaxKbps.Bps(), StandaloneSource: r.MaxSource.String(),
		RateBps: r.UploadKbps.Bps() + r.DownloadKbps.Bps(), UploadBps: r.UploadKbps.Bps(),
		DownloadBps: r.DownloadKbps.Bps(), MinRTTUs: int64(r.MinRTTUs), RTTUs: int64(r.SmoothedRTTUs),
		RTT95Us: int64(r.RTT95Us), BoundBps: r.BoundKbps.Bps(), PHYBps: r.PHYKbps.Bps(),
		QueuedBytes: int64(r.QueuedBytes), Retransmits: int64(r.Retransmissions),
	}
	for i, n := range r.Errors {
		t.Errors[i] = int64(n)
	}
	if r.ApplicationLimited {
		t.DemandBps = r.DemandKbps.Bps()
	}
	return t
}
