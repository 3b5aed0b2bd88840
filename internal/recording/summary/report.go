package summary

import (
	"airtide/internal/diagnose"
	"airtide/internal/tcp"
)

// Report is a summary at a moment. A nil pointer means a value that the source could not see.
type Report struct {
	Totals Totals `json:"totals"`
	Flows  []Flow `json:"flows"` // in order of the first record
	// Radios sums up the host's Wi-Fi interfaces, as a diagnosis found them.
	Radios []diagnose.Radio `json:"radios,omitempty"`
}

// Totals sums up all flows. A connection between two namespaces of one host is two flows and counts
// twice.
type Totals struct {
	Flows  int `json:"flows"`
	Open   int `json:"open_flows"`
	Closed int `json:"closed_flows"`
	Silent int `json:"flows_without_samples"`
	// Senders counts the flows that mostly sent, and more than a control connection does. If there
	// are any, round-trip times, windows and congestion states are theirs alone.
	Senders int `json:"senders"`
	Figures
	// Loss is nil if the source did not report its losses.
	Loss *Loss `json:"loss"`
}

// Loss counts the data that the observation could not deliver.
type Loss struct {
	Records       uint64   `json:"lost_records"` // sum of lost, orphaned and missed records, on all processors
	PerCPU        []uint64 `json:"lost_per_cpu"`
	OrphanRecords uint64   `json:"orphan_records"`
	MissedRecords uint64   `json:"missed_records"`
	Untracked     uint64   `json:"untracked_flows"`
	Unowned       uint64   `json:"unowned_flows"`
	// IPBytes and UDP443Bytes are counted on demand; null if they were not.
	IPBytes     *uint64 `json:"ip_bytes"`
	UDP443Bytes *uint64 `json:"udp_443_bytes"`
	// SYNACKAgain and SYNACKDone count handshakes whose SYN-ACK was sent again, and those of them
	// that opened a connection; null if there was none or they were not counted.
	SYNACKAgain *uint64 `json:"synack_again"`
	SYNACKDone  *uint64 `json:"synack_again_done"`
}

// Flow summarises one flow.
type Flow struct {
	tcp.Flow
	// CongestionControls are the names in the order in which they were first used.
	CongestionControls []string   `json:"congestion_controls"`
	Closed             bool       `json:"closed"`
	CloseReason        tcp.Reason `json:"close_reason"` // still_open while not closed
	// Limit is the limit with the most time, and Certainty tells how sure it is.
	Limit     diagnose.Limit     `json:"limit"`
	Certainty diagnose.Certainty `json:"certainty"`
	Figures
}

// Figures are the results for one flow, or for all flows together.
type Figures struct {
	// StartNs and EndNs are the first and the last sight of anything (CLOCK_MONOTONIC).
	StartNs   int64   `json:"start_ns"`
	EndNs     int64   `json:"end_ns"`
	DurationS float64 `json:"duration_s"`
	// ActiveS reaches from the opening (or the first sample, if open before) to the last sample;
	// rates are over it.
	ActiveS float64 `json:"active_s"`
	Samples int64   `json:"samples"`
	Events  int64   `json:"events"`

	AckedBytes     *int64   `json:"acked_bytes"`
	ReceivedBytes  *int64   `json:"received_bytes"`
	AckedRateBps   *float64 `json:"acked_rate_bps"`
	ReceiveRateBps *float64 `json:"receive_rate_bps"`
	// The highest rates over one second; nil if the active time is shorter.
	AckedPeakBps   *float64 `json:"acked_peak_bps"`
	ReceivePeakBps *float64 `json:"receive_peak_bps"`

	// Rtt covers all samples, so a busy time has more weight than an idle one.
	Rtt      *Distribution `json:"rtt_us"`
	Srtt     *Spread       `json:"srtt_us"`
	MinRttUs *int64        `json:"min_rtt_us"` // the smallest value of the kernel's own minimum
	Cwnd     *Spread       `json:"cwnd_packets"`
	InFlight *Spread       `json:"in_flight_packets"`

	DeliveredPackets *int64          `json:"delivered_packets"`
	LostPackets      *int64          `json:"lost_packets"`
	Retransmissions  Retransmissions `json:"retransmissions"`
	Errors           Errors          `json:"errors"`
	Undone           *Undone         `json:"undone"`
	CAStateShare     *CAStateShare   `json:"ca_state_share"`
	Merged           *Merged         `json:"merged"` // null without --with merges
	// Limits are the shares of time of each limit, greatest first; null without a diagnosis. Those
	// of all flows leave out idle and short connections, and receivers beside senders.
	Limits []diagnose.Share `json:"limits"`
}

// Merged counts the segments that arrived, before they were joined.
type Merged struct {
	Segments int64 `json:"segments"`
	Samples  int64 `json:"samples"` // as which they came
}

// Distribution describes values by quantiles, which are within 1 % of their value.
type Distribution struct {
	Min    int64 `json:"min"`
	Median int64 `json:"median"`
	P95    int64 `json:"p95"`
	P99    int64 `json:"p99"`
	Max    int64 `json:"max"`
}

// Spread describes values by their extremes and their median.
type Spread struct {
	Min    int64 `json:"min"`
	Median int64 `json:"median"`
	Max    int64 `json:"max"`
}

// Retransmissions counts retransmitted segments.
type Retransmissions struct {
	// Packets is the kernel's count at the last sample, and the events behind it.
	Packets *int64 `json:"packets"`
	Bytes   *int64 `json:"bytes"`
	// DeliveredPct is the packets in per cent of the delivered ones.
	DeliveredPct *float64 `json:"delivered_pct"`
	Causes       *Causes  `json:"causes"` // counts of the events
	// Losses tells where the packets were lost; null if the drops of this host were not recorded.
	Losses *diagnose.Losses `json:"losses"`
}

// Causes counts retransmissions by tcp.Cause.
type Causes struct {
	Fast        int64 `json:"fast"`
	RTO         int64 `json:"rto"`
	RTORecovery int64 `json:"rto_recovery"`
	TLP         int64 `json:"tlp"`
	RACKTimer   int64 `json:"rack_timer"`
	SYN         int64 `json:"syn"`
	Other       int64 `json:"other"`
	// WithoutEvent counts the packets that the kernel counted and no event told of.
	WithoutEvent int64 `json:"without_event"`
}

// Errors counts events by tcp.ErrorCode.
type Errors struct {
	Reordering      *int64 `json:"reordering"`       // code 1
	LocalCongestion *int64 `json:"local_congestion"` // code 2
	DupAck          *int64 `json:"dup_ack"`          // code 3
	Timeout         *int64 `json:"timeout"`          // code 4
}

// Undone counts the reductions that were undone because the retransmission was spurious.
type Undone struct {
	Timestamp int64 `json:"timestamp"`
	Dsack     int64 `json:"dsack"`
}

// CAStateShare is the share of time, 0 to 1, in each congestion state.
type CAStateShare struct {
	Open     float64 `json:"open"`
	Disorder float64 `json:"disorder"`
	CWR      float64 `json:"cwr"`
	Recovery float64 `json:"recovery"`
	Loss     float64 `json:"loss"`
}

// Explain adds the limits that a diagnosis of the same data found.
func (r *Report) Explain(d *diagnose.Report) {
	r.Totals.Limits = d.Total()
	r.Radios = d.Radios
	found := byFlow(d)
	for i := range r.Flows {
		r.Flows[i].explain(found[r.Flows[i].ID])
	}
}

// byFlow returns the connections of a diagnosis by flow. It may be nil.
func byFlow(d *diagnose.Report) map[tcp.FlowID]*diagnose.Connection {
	if d == nil {
		return nil
	}
	found := make(map[tcp.FlowID]*diagnose.Connection, len(d.Connections))
	for i := range d.Connections {
		found[d.Connections[i].ID] = &d.Connections[i]
	}
	return found
}

// explain adds the limits that a diagnosis found, if it did.
func (f *Flow) explain(c *diagnose.Connection) {
	if c == nil {
		return
	}
	f.Limits = c.Shares
	f.Limit = c.Limit
	f.Certainty = c.Certainty
}

// Flow returns a flow of the report.
func (r *Report) Flow(id tcp.FlowID) (*Flow, bool) {
	for i := range r.Flows {
		if r.Flows[i].ID == id {
			return &r.Flows[i], true
		}
	}
	return nil, false
}
