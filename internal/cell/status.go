package cell

import (
	"encoding/json"
	"fmt"
	"math"

	"airtide/internal/cell/engine"
	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
	"airtide/internal/cell/queue"
)

// Status holds the counters of a cell since Begin. All counts are cumulative; Between computes
// rates from two of them.
type Status struct {
	// TimeNs is virtual time since Begin; before it, since the start.
	TimeNs int64 `json:"time_ns"`
	// BusyNs is the time in which the medium was busy: frames, their acknowledgements and the times
	// between these, also of collisions.
	BusyNs int64 `json:"busy_ns"`
	// Engine is how the engine is doing; nil in virtual time.
	Engine    *EngineStatus    `json:"engine,omitempty"`
	Terminals []TerminalStatus `json:"terminals"`
	AP        APStatus         `json:"ap"`
	WireUp    WireStatus       `json:"wire_up"`
	WireDown  WireStatus       `json:"wire_down"`
	Flows     []FlowStatus     `json:"flows,omitempty"`
	// UnderWay packets have entered and neither left nor been dropped.
	UnderWay int64 `json:"under_way_packets"`
}

// EngineStatus is how the engine is doing. The lags count from Begin.
type EngineStatus struct {
	// BeginNs is when time zero was, on CLOCK_MONOTONIC.
	BeginNs int64           `json:"begin_ns"`
	Lag     engine.Lateness `json:"lag"`
	// LagLimitNs is the limit for 1 % of the deliveries, and a tenth of the limit for 0.1 %.
	// LagExceeded means that a limit was exceeded, so the measurement is invalid.
	LagLimitNs  int64 `json:"lag_limit_ns"`
	LagExceeded bool  `json:"lag_exceeded"`
	// Wake is how late the system woke the engine, and Turn how long it was busy between two waits.
	Wake engine.Lateness `json:"wake"`
	Turn engine.Lateness `json:"turn"`
	// CPUNs is the processor time of the engine's thread.
	CPUNs int64 `json:"cpu_ns"`
	// Slots is the number of packet slots, SlotsLow the smallest number of free ones. Exhausted
	// counts packets that were lost because no slot was free.
	Slots     int    `json:"slots"`
	SlotsLow  int    `json:"slots_low"`
	Exhausted uint64 `json:"exhausted_packets"`
	// Servers counts the packets between the engine and the servers.
	Servers []engine.PortStatus `json:"servers,omitempty"`
	// Warnings describes the engine's problems in words.
	Warnings []string `json:"warnings,omitempty"`
}

// TerminalStatus is one terminal's. Up is towards the access point.
type TerminalStatus struct {
	Name       string `json:"name"`
	Ethernet   bool   `json:"ethernet,omitempty"`
	PHYRateBps int64  `json:"phy_rate_bps,omitempty"` // now
	// Up counts the terminal's own transmissions, Down those of the access point to it.
	Up   RadioCounts `json:"up"`
	Down RadioCounts `json:"down"`
	// Queue is the terminal's own queue, APQueue the access point's queue for this terminal.
	Queue    QueueCounts   `json:"queue"`
	APQueue  QueueCounts   `json:"ap_queue"`
	PathUp   path.Counters `json:"path_up"`
	PathDown path.Counters `json:"path_down"`
	// Drops of its packets in both directions, by place.
	Drops Drops `json:"drops"`
	// Port counts the packets between the engine and the terminal's device. It is zero in virtual
	// time.
	Port engine.PortCounts `json:"port"`
}

// APStatus is the access point's: its transmissions and its queue for all terminals.
type APStatus struct {
	Radio RadioCounts `json:"radio"`
	Queue QueueCounts `json:"queue"`
	// Thinned counts ACKs that a later ACK replaced. The queue counts them as dropped.
	Thinned int64 `json:"thinned_packets,omitempty"`
	// Lowered windows were advertised greater than the connection's part of the queue.
	Lowered int64 `json:"lowered_windows,omitempty"`
}

// RadioCounts are transmissions over the medium.
type RadioCounts struct {
	// AirtimeNs is the duration of all frames with their preambles, including collided frames and
	// without their acknowledgements.
	AirtimeNs int64 `json:"airtime_ns"`
	// TXOPs counts the accesses to the medium, including collided ones.
	TXOPs int64 `json:"txops"`
	// PPDUs with data, BlockAckRequests, and how many of both collided.
	PPDUs            int64 `json:"ppdus"`
	BlockAckRequests int64 `json:"block_ack_requests"`
	Collisions       int64 `json:"collisions"`
	// Beacons counts the access point's beacons. Their duration is part of AirtimeNs.
	Beacons int64 `json:"beacons,omitempty"`
	// Frames counts sent MPDUs, Retries the repeated ones, FrameErrors those lost without a
	// collision.
	Frames      int64 `json:"frames"`
	Retries     int64 `json:"retries"`
	FrameErrors int64 `json:"frame_errors"`
	// GivenUp packets were lost after the last retry.
	GivenUp int64 `json:"given_up_packets"`
	// DeliveredPackets and DeliveredBytes (of IP packets) have crossed the medium.
	DeliveredPackets int64 `json:"delivered_packets"`
	DeliveredBytes   int64 `json:"delivered_bytes"`
	// Sizes counts the PPDUs by their number of frames.
	Sizes Sizes `json:"sizes"`
	// Backlog is the number of packets that wait or are unacknowledged on the air. The access
	// point's backlog covers all terminals.
	Backlog Area `json:"backlog"`
	// Sojourn is the time from the entry into the queue until delivery, in nanoseconds.
	Sojourn queue.Histogram `json:"sojourn_ns"`
}

// Sizes counts transmissions by their number of frames.
type Sizes [medium.MostFrames + 1]int64

// MarshalJSON encodes the sizes with a count above zero.
func (s Sizes) MarshalJSON() ([]byte, error) {
	counts := map[int]int64{}
	for frames, n := range s {
		if n > 0 {
			counts[frames] = n
		}
	}
	return json.Marshal(counts)
}

// UnmarshalJSON decodes the form of MarshalJSON.
func (s *Sizes) UnmarshalJSON(data []byte) error {
	counts := map[int]int64{}
	if err := json.Unmarshal(data, &counts); err != nil {
		return err
	}
	*s = Sizes{}
	for frames, n := range counts {
		if frames < 0 || frames >= len(s) {
			return fmt.Errorf("a transmission of %d frames: there are none of more than %d", frames, len(s)-1)
		}
		s[frames] = n
	}
	return nil
}

// quantile returns the number of frames that a share (0 to 1) of the transmissions does not exceed.
// It returns 0 without transmissions.
func (s *Sizes) quantile(share float64) int {
	total := int64(0)
	for _, n := range s {
		total += n
	}
	rank := max(int64(math.Ceil(share*float64(total))), 1)
	seen := int64(0)
	for frames, n := range s {
		seen += n
		if seen >= rank {
			return frames
		}
	}
	return 0
}

// QueueCounts are a queue's, in packets.
type QueueCounts struct {
	Pushed      int64 `json:"pushed_packets"`
	Popped      int64 `json:"popped_packets"`
	Dropped     int64 `json:"dropped_packets"`
	PoppedBytes int64 `json:"popped_bytes"`
	// Marked with ECN's CE instead of being dropped.
	Marked int64 `json:"marked_packets"`
	Length Area  `json:"length"`
	// Lengths is the distribution of the queue length over time.
	Lengths queue.Times `json:"lengths_ns"`
	// Sojourn of the packets that were taken out, in nanoseconds.
	Sojourn queue.Histogram `json:"sojourn_ns"`
}

// Area is a level (a queue's length) over time.
type Area struct {
	Now int64 `json:"now_packets"`
	Max int64 `json:"max_packets"` // greatest number of packets since the start
	// PacketNs is the sum of level times duration.
	PacketNs float64 `json:"packet_ns"`
}

// WireStatus is one direction of the shared wire.
type WireStatus struct {
	RateBps int64       `json:"rate_bps"` // now; 0 is without limit
	Queue   QueueCounts `json:"queue"`
}

// Drops are lost packets by place.
type Drops struct {
	StationQueue int64 `json:"station_queue_packets"`
	APQueue      int64 `json:"ap_queue_packets"`
	RetryLimit   int64 `json:"retry_limit_packets"`
	WireQueue    int64 `json:"wire_queue_packets"`
	Path         int64 `json:"path_packets"`
}

// FlowStatus counts the delivered packets of a flow: Forward towards its port (echo requests),
// Reverse from its port (replies).
type FlowStatus struct {
	Name    string    `json:"name"`
	Forward Delivered `json:"forward"`
	Reverse Delivered `json:"reverse"`
}

// Delivered counts packets that have left cell and path. Payload is the part after the TCP, UDP or
// ICMP header. A duplicate segment counts twice.
type Delivered struct {
	Packets      int64 `json:"packets"`
	PayloadBytes int64 `json:"payload_bytes"`
}
