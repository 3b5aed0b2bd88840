package screen

import (
	"encoding/json"
	"strconv"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
)

// Value is a number that may be absent (tcp.Absent): null in JSON, "-" in a table.
type Value int64

// MarshalJSON writes null for an absent value.
func (v Value) MarshalJSON() ([]byte, error) {
	if v == tcp.Absent {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(v), 10), nil
}

func (v Value) times(n Value) Value {
	if v == tcp.Absent {
		return v
	}
	return v * n
}

// Text is a string that may be unknown (""): null in JSON, "-" in a table.
type Text string

// MarshalJSON writes null for an unknown text.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// Errors counts the events of each error code of Matsuno et al. 2021 since the start of the
// observation.
type Errors struct {
	Reordering      Value `json:"reordering"`       // code 1
	LocalCongestion Value `json:"local_congestion"` // code 2
	DupAck          Value `json:"dup_ack"`          // code 3
	Timeout         Value `json:"timeout"`          // code 4
}

func (e *Errors) count(code tcp.ErrorCode) *Value {
	switch code {
	case tcp.CodeReordering:
		return &e.Reordering
	case tcp.CodeLocalCongestion:
		return &e.LocalCongestion
	case tcp.CodeDupAck:
		return &e.DupAck
	case tcp.CodeTimeout:
		return &e.Timeout
	}
	return nil
}

// Row is the state of one flow. The fields that a sample has are named and measured as in package
// tcp; the JSON names are a contract and pinned by a test.
type Row struct {
	Flow              tcp.FlowID `json:"flow"`
	PID               Value      `json:"pid"`
	Comm              Text       `json:"comm"`
	NetNS             Value      `json:"netns"`
	Cgroup            Text       `json:"cgroup"`
	Local             Text       `json:"local"`
	Remote            Text       `json:"remote"`
	CongestionControl Text       `json:"congestion_control"`
	State             Text       `json:"state"`
	CAState           Text       `json:"ca_state"`
	Closed            bool       `json:"closed"`
	CloseReason       Text       `json:"close_reason"`
	// Idle is true if no byte was acknowledged or received within the window of the rates.
	Idle bool `json:"idle"`
	// Limit is the limit of the rate in the last three seconds, as package diagnose names it, and
	// Certainty its certainty.
	Limit     Text `json:"limit"`
	Certainty Text `json:"certainty"`
	// Losses tells where the packets were lost that were sent again; nil without drops.
	Losses *diagnose.Losses `json:"losses,omitempty"`
	// SampleNs is the time of the last sample (CLOCK_MONOTONIC).
	SampleNs Value `json:"sample_ns"`

	Cwnd     Value `json:"cwnd_packets"`
	Ssthresh Value `json:"ssthresh_packets"`
	InFlight Value `json:"in_flight_packets"`
	MSS      Value `json:"mss_bytes"`
	Srtt     Value `json:"srtt_us"`
	Rttvar   Value `json:"rttvar_us"`
	RTT      Value `json:"rtt_us"`
	MinRTT   Value `json:"min_rtt_us"`
	RTO      Value `json:"rto_us"`
	Backoff  Value `json:"backoff"`

	SendQueued    Value `json:"send_queued_bytes"`
	Unsent        Value `json:"unsent_bytes"`
	ReceiveQueued Value `json:"receive_queued_bytes"`
	Backlog       Value `json:"backlog_bytes"`
	DeviceQueue   Value `json:"device_queue_bytes"`
	SendWindow    Value `json:"send_window_bytes"`
	ReceiveWindow Value `json:"receive_window_bytes"`

	// SendRate is the growth of acked_bytes over the last two seconds, in bits per second.
	// ReceiveRate is the growth of received_bytes. Both count delivered payload, without headers
	// and retransmissions.
	SendRate     Value `json:"send_rate_bps"`
	ReceiveRate  Value `json:"receive_rate_bps"`
	DeliveryRate Value `json:"delivery_rate_bps"`
	PacingRate   Value `json:"pacing_rate_bps"`
	Acked        Value `json:"acked_bytes"`
	Received     Value `json:"received_bytes"`

	// Retransmits and LostPackets are the kernel's counters over the whole life of the connection.
	// RetransmitEvents counts the observed events.
	Retransmits      Value  `json:"retransmits_packets"`
	RetransmitEvents Value  `json:"retransmit_events"`
	LostPackets      Value  `json:"lost_packets"`
	Errors           Errors `json:"errors"`
}

// fill writes everything but the rates.
func (c *connection) fill(r *Row) {
	get := func(f tcp.Field) Value { return Value(c.last.Values[f]) }
	*r = Row{
		Flow: c.flow.ID, PID: known(int64(c.flow.PID)), Comm: Text(c.flow.Comm), NetNS: known(int64(c.flow.NetNS)),
		Cgroup: Text(c.flow.CgroupPath), Local: endpoint(c.flow.Local), Remote: endpoint(c.flow.Remote),
		CongestionControl: Text(c.flow.CongestionControl), Closed: c.closed, SampleNs: known(c.last.TimeNs),

		Cwnd: get(tcp.CwndPackets), Ssthresh: get(tcp.SsthreshPackets), InFlight: get(tcp.InFlightPackets),
		MSS: get(tcp.MSSBytes), Srtt: get(tcp.SrttUs), Rttvar: get(tcp.RttvarUs), RTT: get(tcp.RttUs),
		MinRTT: get(tcp.MinRttUs), RTO: get(tcp.RTOUs), Backoff: get(tcp.Backoff),

		SendQueued: get(tcp.SendQueuedBytes), Unsent: get(tcp.UnsentBytes), ReceiveQueued: get(tcp.ReceiveQueuedBytes),
		Backlog: get(tcp.BacklogBytes), DeviceQueue: get(tcp.DeviceQueueBytes),
		SendWindow: get(tcp.SendWindowBytes), ReceiveWindow: get(tcp.ReceiveWindowBytes),

		DeliveryRate: get(tcp.DeliveryRateBps), PacingRate: get(tcp.PacingRateBps),
		Acked: get(tcp.AckedBytes), Received: get(tcp.ReceivedBytes),

		Retransmits: get(tcp.RetransmitsPackets), RetransmitEvents: Value(c.retransmits),
		LostPackets: get(tcp.LostPackets),
		Errors: Errors{
			Value(c.errors[tcp.CodeReordering]), Value(c.errors[tcp.CodeLocalCongestion]),
			Value(c.errors[tcp.CodeDupAck]), Value(c.errors[tcp.CodeTimeout]),
		},
	}
	if c.state != tcp.Absent {
		r.State = Text(tcp.State(c.state).String())
	}
	if c.ca != tcp.Absent {
		r.CAState = Text(tcp.CAState(c.ca).String())
	}
	if c.closed {
		r.CloseReason = Text(c.reason.String())
	}
}

// known turns zero, which means "not known" in a Flow, into an absent value.
func known(v int64) Value {
	if v == 0 {
		return tcp.Absent
	}
	return Value(v)
}
