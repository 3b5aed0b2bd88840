package cell

// Window is a cell's activity between two statuses.
type Window struct {
	// FromNs and ToNs are virtual times since Begin.
	FromNs    int64            `json:"from_ns"`
	ToNs      int64            `json:"to_ns"`
	Terminals []TerminalWindow `json:"terminals"`
	AP        APWindow         `json:"ap"`
	WireUp    WireWindow       `json:"wire_up"`
	WireDown  WireWindow       `json:"wire_down"`
	Flows     []FlowWindow     `json:"flows,omitempty"`
}

// TerminalWindow is one terminal's.
type TerminalWindow struct {
	Name       string `json:"name"`
	Ethernet   bool   `json:"ethernet,omitempty"`
	PHYRateBps int64  `json:"phy_rate_bps,omitempty"` // rate at the end of the window
	// SentMbps and ReceivedMbps are of IP packets that passed its device; zero in virtual time.
	SentMbps     float64 `json:"sent_mbps"`
	ReceivedMbps float64 `json:"received_mbps"`
	// AirtimePercent is the share of time in which the terminal's own frames or frames to it
	// occupied the medium.
	AirtimePercent float64 `json:"airtime_percent"`
	// Up describes the terminal's own transmissions, Down those of the access point to it.
	Up   RadioWindow `json:"up"`
	Down RadioWindow `json:"down"`
	// Queue is the terminal's own queue, APQueue the access point's queue for this terminal.
	Queue   QueueWindow `json:"queue"`
	APQueue QueueWindow `json:"ap_queue"`
	// Drops of its packets in both directions, by place.
	Drops Drops `json:"drops"`
	// Lost, Duplicated and Reordered packets on the path, in both directions.
	Lost       int64 `json:"lost_packets"`
	Duplicated int64 `json:"duplicated_packets"`
	Reordered  int64 `json:"reordered_packets"`
	// Refused packets were refused to the sender by its device, which TCP takes for local
	// congestion; Holds counts how often a full queue held the sender back.
	Refused int64 `json:"refused_packets"`
	Holds   int64 `json:"holds"`
}

// APWindow is the access point's.
type APWindow struct {
	Radio RadioWindow `json:"radio"`
	Queue QueueWindow `json:"queue"`
	// Thinned counts ACKs that a later ACK replaced. The queue counts them as dropped.
	Thinned int64 `json:"thinned_packets,omitempty"`
	// Lowered windows were advertised greater than the connection's part of the queue.
	Lowered int64 `json:"lowered_windows,omitempty"`
}

// RadioWindow describes transmissions. Quantiles and means without values are 0.
type RadioWindow struct {
	AirtimePercent float64 `json:"airtime_percent"`
	TXOPs          int64   `json:"txops"`
	// CollisionsPercent is the share of transmissions that collided. RetriesPercent is the share of
	// frames that were repetitions.
	CollisionsPercent float64 `json:"collisions_percent"`
	RetriesPercent    float64 `json:"retries_percent"`
	Retries           int64   `json:"retries"`
	FrameErrors       int64   `json:"frame_errors"`
	// AggregationFrames is the mean number of frames in a PPDU; the others are their median, 95th
	// percentile and most.
	AggregationFrames float64 `json:"aggregation_frames"`
	AggregationMedian int     `json:"aggregation_median_frames"`
	AggregationP95    int     `json:"aggregation_p95_frames"`
	AggregationMax    int     `json:"aggregation_max_frames"`
	// RateMbps of IP packets that crossed the medium.
	RateMbps float64 `json:"rate_mbps"`
	// BacklogPackets is the mean number of packets that wait or are unacknowledged on the air.
	BacklogPackets float64 `json:"backlog_packets"`
	Sojourn        Sojourn `json:"sojourn"`
}

// QueueWindow is about a queue.
type QueueWindow struct {
	// MeanPackets is the mean length over time. P95Packets is the length that 95 % of the time does
	// not exceed, MaxPackets the greatest length, both within 3.2 %. EndPackets is the length at
	// the end.
	MeanPackets float64 `json:"mean_packets"`
	P95Packets  int64   `json:"p95_packets"`
	MaxPackets  int64   `json:"max_packets"`
	EndPackets  int64   `json:"end_packets"`
	Pushed      int64   `json:"pushed_packets"`
	Dropped     int64   `json:"dropped_packets"`
	Marked      int64   `json:"marked_packets"`
	Sojourn     Sojourn `json:"sojourn"`
}

// Sojourn has quantiles of the time that packets stayed, within 3.2 %.
type Sojourn struct {
	Count    int64   `json:"count"`
	MeanMs   float64 `json:"mean_ms"`
	MedianMs float64 `json:"median_ms"`
	P95Ms    float64 `json:"p95_ms"`
	P99Ms    float64 `json:"p99_ms"`
}

// WireWindow is one direction of the shared wire.
type WireWindow struct {
	RateBps int64 `json:"rate_bps"` // rate at the end of the window; 0 means no limit
	// RateMbps of IP packets that went over it.
	RateMbps float64     `json:"rate_mbps"`
	Queue    QueueWindow `json:"queue"`
}

// FlowWindow has a flow's goodput: payload of packets as they leave cell and path. Forward is
// towards its port, Reverse from it.
type FlowWindow struct {
	Name           string  `json:"name"`
	ForwardMbps    float64 `json:"forward_mbps"`
	ReverseMbps    float64 `json:"reverse_mbps"`
	ForwardPackets int64   `json:"forward_packets"`
	ReversePackets int64   `json:"reverse_packets"`
}
