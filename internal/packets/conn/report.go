package conn

import "net/netip"

// Connection is the report on a connection of a capture. Times are in ns since 1970, or in µs.
type Connection struct {
	// ID numbers the connections from 1 in the order of their first packets, like tcp.stream + 1.
	ID          uint64 `json:"connection"`
	FirstNs     int64  `json:"first_ns"`
	LastNs      int64  `json:"last_ns"`
	FirstPacket uint64 `json:"first_packet"`
	LastPacket  uint64 `json:"last_packet"`
	// Client opened the connection. Without a captured handshake it is the sender of the first
	// packet.
	Client netip.AddrPort `json:"client"`
	Server netip.AddrPort `json:"server"`
	// Handshake names the captured part: full, partial or none.
	Handshake string `json:"handshake"`
	// Near is the end at which the capture was taken, by the times of the handshake, or, if these
	// do not tell it, by echoed timestamps: client, server, between, or empty if unknown. It is
	// both if the ends are on one host, by their addresses.
	Near string `json:"near,omitempty"`
	// HandshakeUs is the time from the last SYN to the ACK of the SYN-ACK; zero if it was not
	// captured.
	HandshakeUs float64 `json:"handshake_us,omitempty"`
	// ClientSideUs and ServerSideUs are the RTTs from the place of the capture to each end: the
	// median time from data to its ACK, or of the end that sends most data the median of EchoRTT,
	// or the part of the handshake; zero if none was captured.
	ClientSideUs float64 `json:"client_side_rtt_us,omitempty"`
	ServerSideUs float64 `json:"server_side_rtt_us,omitempty"`
	// End is its end: fin, reset, refused, no_answer, half_closed or open.
	End string `json:"end"`
	// EndBy is the end that sent the first FIN or RST: client or server.
	EndBy string `json:"end_by,omitempty"`
	// Copies counts packets that were captured a second time, inside or outside of a tunnel. They
	// are not among the packets of an end.
	Copies uint64 `json:"copies,omitempty"`
	// ClockStepsBack counts packets with a time before that of the packet before.
	ClockStepsBack uint64    `json:"clock_steps_back"`
	FromClient     Direction `json:"from_client"`
	FromServer     Direction `json:"from_server"`
}

// Packets counts the packets of both directions.
func (c *Connection) Packets() uint64 { return c.FromClient.Packets + c.FromServer.Packets }

// Bytes counts the bytes of data of both directions, with repeated bytes.
func (c *Connection) Bytes() uint64 { return c.FromClient.DataBytes + c.FromServer.DataBytes }

// DurationNs is the time from the first to the last packet.
func (c *Connection) DurationNs() int64 { return max(0, c.LastNs-c.FirstNs) }

// Direction describes the segments that one end sent.
type Direction struct {
	Packets      uint64 `json:"packets"`
	WireBytes    uint64 `json:"wire_bytes"`
	DataPackets  uint64 `json:"data_packets"`
	DataBytes    uint64 `json:"data_bytes"`
	UniqueBytes  uint64 `json:"unique_bytes"` // seen for the first time
	GreatestData uint32 `json:"greatest_data_bytes"`

	Retransmissions uint64 `json:"retransmissions"` // neither fast nor spurious ones
	Fast            uint64 `json:"fast_retransmissions"`
	Spurious        uint64 `json:"spurious_retransmissions"`
	RepeatedBytes   uint64 `json:"repeated_bytes"`
	OutOfOrder      uint64 `json:"out_of_order"`
	// DataSegments counts the segments of data on the wire. Offloads show several as one packet.
	DataSegments uint64 `json:"data_segments"`
	// LateSegments counts the segments that begin below the highest byte before: sent again, or
	// reordered on the way to the capture.
	LateSegments uint64 `json:"late_segments"`
	LateBytes    uint64 `json:"late_bytes"`
	// LateBare counts those of LateSegments without data: SYNs and FINs.
	LateBare uint64 `json:"-"`
	// ResentSegments counts the segments that were sent again. It is absent unless the capture was
	// taken at this end.
	ResentSegments *uint64 `json:"resent_segments,omitempty"`
	// Gaps counts segments behind bytes that were not captured.
	Gaps uint64 `json:"segments_behind_gaps"`

	Acks       uint64 `json:"acks_of_new_data"`
	PureAcks   uint64 `json:"pure_acks"`
	AckedBytes uint64 `json:"acked_bytes"` // bytes of the other end
	DupAcks    uint64 `json:"duplicate_acks"`
	// UnseenAcked counts ACKs of data that was not captured.
	UnseenAcked    uint64  `json:"acks_of_unseen_data"`
	SackAcks       uint64  `json:"acks_with_sack"`
	DsackAcks      uint64  `json:"acks_with_dsack"`
	SegmentsPerAck float64 `json:"segments_per_ack,omitempty"`

	KeepAlives       uint64 `json:"keep_alives"`
	KeepAliveAcks    uint64 `json:"keep_alive_acks"`
	ZeroWindows      uint64 `json:"zero_windows"`
	ZeroWindowProbes uint64 `json:"zero_window_probes"`
	WindowFull       uint64 `json:"window_full"`
	WindowUpdates    uint64 `json:"window_updates"`
	Resets           uint64 `json:"resets"`
	Fins             uint64 `json:"fins"`

	// Windows that this end advertised. They are absent if their scale is unknown.
	LeastWindow    *int64 `json:"least_window_bytes,omitempty"`
	GreatestWindow *int64 `json:"greatest_window_bytes,omitempty"`
	// In flight: sent by this end and not acknowledged, at the place of the capture.
	GreatestInFlight int64   `json:"greatest_in_flight_bytes"`
	MeanInFlight     float64 `json:"mean_in_flight_bytes"`

	// RTT is the time from a segment of this end to the ACK that names its end. Segments sent twice
	// do not count.
	RTT *Distribution `json:"rtt,omitempty"`
	// EchoRTT is the time from an ACK to the data of this end that first echoes its timestamp.
	// Behind a pause of half of it no time counts.
	EchoRTT *Distribution `json:"echo_rtt,omitempty"`
	// Offer holds the options of this end's SYN.
	Offer *Offer `json:"syn_options,omitempty"`
}

// Offer is the options of a SYN or SYN-ACK. If the capture lacks bytes of them, an option that was
// not seen is unknown, and absent here.
type Offer struct {
	MSS        uint16 `json:"mss_bytes,omitempty"`
	Scale      *int8  `json:"window_scale,omitempty"` // absent: not offered, unless bytes of the SYN are missing
	SACK       *bool  `json:"sack,omitempty"`
	Timestamps *bool  `json:"timestamps,omitempty"`
	ECN        bool   `json:"ecn"`
	FastOpen   *bool  `json:"fast_open,omitempty"`
	// MissingBytes counts the bytes of options that were not captured.
	MissingBytes int `json:"missing_option_bytes,omitempty"`
}

// AllRetransmissions counts the retransmissions of all kinds.
func (d *Direction) AllRetransmissions() uint64 { return d.Retransmissions + d.Fast + d.Spurious }
