package tcp

import "strings"

// Field numbers the values of a sample. The numbers are not stable: recordings and exports speak by
// name.
type Field uint8

// The fields of a sample. fieldTable below describes each.
const (
	// Contents of the arriving segment.
	AckBytes Field = iota
	SeqBytes
	SegmentBytes
	PeerWindowBytes
	TCPFlags
	SackBlocks

	// The sender's congestion state.
	CwndPackets
	SsthreshPackets
	InFlightPackets
	CAStateField
	ReorderingPackets
	LostOutPackets
	SackedOutPackets
	RetransOutPackets
	MSSBytes
	CwndLimited

	// Round-trip times and timers.
	SrttUs
	RttvarUs
	RttUs
	MinRttUs
	ReceiverRttUs
	RTOUs
	Backoff

	// Windows and queues.
	SendWindowBytes
	ReceiveWindowBytes
	AckedBytes
	SentBytes
	WrittenBytes
	ReceivedBytes
	ReadBytes
	BacklogBytes
	SendBufferBytes
	ReceiveBufferBytes
	SendMemoryBytes
	DeviceQueueBytes
	ReceiveMemoryBytes
	ForwardMemoryBytes
	OutOfOrderPackets
	SendBufferFixed
	ReceiveBufferFixed

	// Delivery.
	DeliveredPackets
	DeliveredCEPackets
	LostPackets
	RetransmitsPackets
	RetransmittedBytes
	DSackDups
	ReorderingSeen
	DeliveryRateBps
	PacingRateBps
	AppLimited

	// Chronographs.
	BusyUs
	RwndLimitedUs
	SndbufLimitedUs

	StateField

	// Recorded on demand.
	PeerTimestamp
	EchoedTimestamp
	WriterBlocked
	DeviceThrottled
	DeviceWaitUs
	MergedPackets

	// Private state of congestion controls, by name.
	CubicKMs
	CubicWmaxPackets
	CubicOriginPackets
	CubicEpochNs
	CubicTargetPackets
	CubicRenoPackets
	CubicCnt
	CubicDelayMinUs
	BBRMode
	BBRBandwidthBps
	BBRMinRttUs
	BBRPacingGainPct
	BBRCwndGainPct
	BBRFullBandwidth
	CompoundDelayPackets
	CompoundGammaPackets
	CompoundRenoQueuedPackets
	CompoundBaseRttUs

	// NumStored is the number of fields that are sampled and stored; those behind it are computed
	// from them.
	NumStored

	// UnackedBytes is the first of the computed fields.
	UnackedBytes = NumStored + iota - NumStored - 1
	UnsentBytes
	SendQueuedBytes
	ReceiveQueuedBytes
	InFlightBytes
	Direction

	// NumFields counts all fields.
	NumFields = int(Direction) + 1
)

// Values of the Direction field.
const (
	DirectionAck  = 1 // a pure ACK came in: this end is sending
	DirectionData = 2 // data came in: this end is receiving (the segment's ACK counts as well)
)

// Kind is the behaviour of a field over time. It decides how the field is drawn and summed up.
type Kind uint8

// The kinds of fields.
const (
	Gauge   Kind = iota // a level
	Counter             // only grows
	Enum                // a number that stands for a name
	Flag                // 0 or 1
)

func (k Kind) String() string { return [...]string{"level", "counter", "enumeration", "flag"}[k] }

// FieldInfo describes a field.
type FieldInfo struct {
	Name string // snake case with its unit; pinned by a test
	Unit string // label of axes: "packets", "bytes", "µs", "bit/s", or ""
	Kind Kind
	Doc  string
	// Source names the kernel's variable.
	Source string
}

// Info describes the field.
func (f Field) Info() FieldInfo { return fieldTable[f] }

func (f Field) String() string { return fieldTable[f].Name }

// Computed reports whether the field is computed from others and never stored.
func (f Field) Computed() bool { return f >= NumStored }

// FieldByName finds a field.
func FieldByName(name string) (Field, bool) {
	f, ok := fieldsByName[name]
	return f, ok
}

// FieldNames returns the names of all fields in their order.
func FieldNames() []string {
	names := make([]string, NumFields)
	for f := range Field(NumFields) {
		names[f] = fieldTable[f].Name
	}
	return names
}

// CongestionControlOf names the algorithm that has the field in its private state ("cubic", "bbr",
// "compound"), "" for the other fields. airtide's variants of CUBIC, such as cubic_rtt, also have
// the fields of cubic.
func (f Field) CongestionControlOf() string {
	for _, cc := range []string{"cubic", "bbr", "compound"} {
		if strings.HasPrefix(fieldTable[f].Name, cc+"_") {
			return cc
		}
	}
	return ""
}

// OnDemand names the part of record --with without which the field is absent, "" for the fields
// that are always recorded.
func (f Field) OnDemand() string {
	switch f {
	case PeerTimestamp, EchoedTimestamp:
		return "timestamps"
	case WriterBlocked, DeviceThrottled, DeviceWaitUs:
		return "waits"
	case MergedPackets:
		return "merges"
	}
	return ""
}

var fieldsByName = func() map[string]Field {
	m := make(map[string]Field, NumFields)
	for f := range Field(NumFields) {
		m[fieldTable[f].Name] = f
	}
	return m
}()

// Stream offsets (ack_bytes, acked_bytes, sent_bytes, ...) count bytes from the start of the
// connection's stream in 64 bits: the kernel's bytes_acked or bytes_received plus the 32-bit
// distance of the sequence number from snd_una or rcv_nxt. A SYN may count as one byte.
var fieldTable = [NumFields]FieldInfo{
	AckBytes: {
		"ack_bytes", "bytes", Gauge, "acknowledgement number of the arriving segment, as stream offset",
		"tcp_skb_cb.ack_seq",
	},
	SeqBytes: {
		"seq_bytes", "bytes", Gauge, "sequence number of the arriving segment, as offset in the receive stream",
		"tcphdr.seq",
	},
	SegmentBytes: {
		"segment_bytes", "bytes", Gauge, "payload of the arriving segment (after GRO); 0 for a pure ACK",
		"skb.len - tcphdr.doff*4",
	},
	PeerWindowBytes: {
		"peer_window_bytes", "bytes", Gauge, "window that the arriving segment advertises, scaled",
		"tcphdr.window << rx_opt.snd_wscale",
	},
	TCPFlags: {
		"tcp_flags", "", Enum,
		"flags of the arriving segment: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128", "tcphdr",
	},
	SackBlocks: {"sack_blocks", "", Gauge, "SACK blocks that the arriving segment carries", "TCP option 5"},

	CwndPackets: {"cwnd_packets", "packets", Gauge, "congestion window", "tcp_sock.snd_cwnd"},
	SsthreshPackets: {
		"ssthresh_packets", "packets", Gauge, "slow-start threshold; absent while unset (infinite)",
		"tcp_sock.snd_ssthresh",
	},
	InFlightPackets: {
		"in_flight_packets", "packets", Gauge,
		"segments in flight: packets_out - sacked_out - lost_out + retrans_out", "tcp_packets_in_flight",
	},
	CAStateField: {
		"ca_state", "", Enum, "congestion state: 0 open, 1 disorder, 2 cwr, 3 recovery, 4 loss",
		"inet_connection_sock.icsk_ca_state",
	},
	ReorderingPackets: {
		"reordering_packets", "packets", Gauge, "reordering degree that the sender allows for",
		"tcp_sock.reordering",
	},
	LostOutPackets: {
		"lost_out_packets", "packets", Gauge, "segments in the window that are marked lost", "tcp_sock.lost_out",
	},
	SackedOutPackets: {
		"sacked_out_packets", "packets", Gauge, "segments in the window that are selectively acknowledged",
		"tcp_sock.sacked_out",
	},
	RetransOutPackets: {
		"retrans_out_packets", "packets", Gauge, "retransmitted segments not yet acknowledged",
		"tcp_sock.retrans_out",
	},
	MSSBytes: {"mss_bytes", "bytes", Gauge, "sending maximum segment size", "tcp_sock.mss_cache"},
	CwndLimited: {
		"cwnd_limited", "", Flag, "the last transmission was limited by cwnd", "tcp_sock.is_cwnd_limited",
	},

	SrttUs: {"srtt_us", "µs", Gauge, "smoothed round-trip time", "tcp_sock.srtt_us >> 3"},
	RttvarUs: {
		"rttvar_us", "µs", Gauge, "mean deviation of the round-trip time, as TCP_INFO gives it",
		"tcp_sock.mdev_us >> 2",
	},
	RttUs: {
		"rtt_us", "µs", Gauge, "latest round-trip time, of the segment most recently delivered",
		"tcp_sock.rack.rtt_us",
	},
	MinRttUs: {"min_rtt_us", "µs", Gauge, "minimum round-trip time of the kernel's window", "tcp_sock.rtt_min"},
	ReceiverRttUs: {
		"receiver_rtt_us", "µs", Gauge, "round-trip time as the receiving side estimates it",
		"tcp_sock.rcv_rtt_est >> 3",
	},
	RTOUs: {
		"rto_us", "µs", Gauge, "retransmission timeout, with its back-off", "inet_connection_sock.icsk_rto",
	},
	Backoff: {"backoff", "", Gauge, "how often the timer has doubled", "inet_connection_sock.icsk_backoff"},

	SendWindowBytes: {
		"send_window_bytes", "bytes", Gauge, "window that the peer grants (its last advertised window)",
		"tcp_sock.snd_wnd",
	},
	ReceiveWindowBytes: {
		"receive_window_bytes", "bytes", Gauge, "window that this end advertises",
		"min(tcp_sock.rcv_wnd, 65535 << rx_opt.rcv_wscale)",
	},
	AckedBytes: {"acked_bytes", "bytes", Counter, "stream acknowledged so far", "tcp_sock.bytes_acked"},
	SentBytes: {
		"sent_bytes", "bytes", Counter, "stream sent so far (without retransmissions)", "tcp_sock.snd_nxt",
	},
	WrittenBytes: {
		"written_bytes", "bytes", Counter, "stream written by the application so far", "tcp_sock.write_seq",
	},
	ReceivedBytes: {
		"received_bytes", "bytes", Counter, "stream received in order so far", "tcp_sock.bytes_received",
	},
	ReadBytes: {
		"read_bytes", "bytes", Counter, "stream read by the application so far", "tcp_sock.copied_seq",
	},
	BacklogBytes: {
		"backlog_bytes", "bytes", Gauge, "memory of segments waiting in the socket's backlog",
		"sock.sk_backlog.len",
	},
	SendBufferBytes:    {"send_buffer_bytes", "bytes", Gauge, "limit of the send buffer", "sock.sk_sndbuf"},
	ReceiveBufferBytes: {"receive_buffer_bytes", "bytes", Gauge, "limit of the receive buffer", "sock.sk_rcvbuf"},
	SendMemoryBytes:    {"send_memory_bytes", "bytes", Gauge, "memory of the send queue", "sock.sk_wmem_queued"},
	DeviceQueueBytes: {
		"device_queue_bytes", "bytes", Gauge,
		"memory handed to the queueing discipline and the device and not yet freed", "sock.sk_wmem_alloc",
	},
	ReceiveMemoryBytes: {"receive_memory_bytes", "bytes", Gauge, "memory of the receive queue", "sock.sk_rmem_alloc"},
	ForwardMemoryBytes: {
		"forward_memory_bytes", "bytes", Gauge, "memory reserved for the socket and not used yet",
		"sock.sk_forward_alloc",
	},
	SendBufferFixed: {
		"send_buffer_fixed", "", Flag,
		"the kernel does not grow the send buffer: the program has set it (SO_SNDBUF), or tcp_wmem bounds it",
		"sock.sk_userlocks, SOCK_SNDBUF_LOCK; netns_ipv4.sysctl_tcp_wmem",
	},
	ReceiveBufferFixed: {
		"receive_buffer_fixed", "", Flag,
		"the program has set the receive buffer (SO_RCVBUF): the kernel does not grow it",
		"sock.sk_userlocks, SOCK_RCVBUF_LOCK",
	},
	OutOfOrderPackets: {
		"out_of_order_packets", "packets", Counter, "segments received out of order", "tcp_sock.rcv_ooopack",
	},

	DeliveredPackets: {
		"delivered_packets", "packets", Counter, "segments delivered, selectively acknowledged ones included",
		"tcp_sock.delivered",
	},
	DeliveredCEPackets: {
		"delivered_ce_packets", "packets", Counter, "segments delivered with a congestion mark",
		"tcp_sock.delivered_ce",
	},
	LostPackets:        {"lost_packets", "packets", Counter, "segments ever marked lost", "tcp_sock.lost"},
	RetransmitsPackets: {"retransmits_packets", "packets", Counter, "segments retransmitted", "tcp_sock.total_retrans"},
	RetransmittedBytes: {"retransmitted_bytes", "bytes", Counter, "bytes retransmitted", "tcp_sock.bytes_retrans"},
	DSackDups: {
		"dsack_dups", "", Counter, "duplicates that the peer has reported by DSACK", "tcp_sock.dsack_dups",
	},
	ReorderingSeen: {"reordering_seen", "", Counter, "times that reordering was seen", "tcp_sock.reord_seen"},
	DeliveryRateBps: {
		"delivery_rate_bps", "bit/s", Gauge, "latest delivery rate sample",
		"tcp_sock.rate_delivered * mss_cache / rate_interval_us",
	},
	PacingRateBps: {
		"pacing_rate_bps", "bit/s", Gauge, "pacing rate; absent while unlimited", "sock.sk_pacing_rate",
	},
	AppLimited: {
		"app_limited", "", Flag, "the delivery rate sample was limited by the application",
		"tcp_sock.rate_app_limited",
	},

	BusyUs: {
		"busy_us", "µs", Counter, "time with data outstanding, the limited times included", "tcp_sock.chrono_stat",
	},
	RwndLimitedUs: {
		"rwnd_limited_us", "µs", Counter, "time limited by the receive window of the peer", "tcp_sock.chrono_stat",
	},
	SndbufLimitedUs: {"sndbuf_limited_us", "µs", Counter, "time limited by the send buffer", "tcp_sock.chrono_stat"},

	StateField: {"state", "", Enum, "connection state", "sock.sk_state"},

	PeerTimestamp: {
		"peer_timestamp", "", Gauge,
		"TSval of the arriving segment, in the peer's ticks; absent without --with timestamps", "TCP option 8",
	},
	EchoedTimestamp: {
		"echoed_timestamp", "", Gauge,
		"TSecr of the arriving segment, in this host's ticks of 1 ms or 1 µs; absent without --with timestamps",
		"TCP option 8",
	},
	WriterBlocked: {
		"writer_blocked", "", Flag, "a writer waits for room in the send buffer; absent without --with waits",
		"socket.flags, SOCK_NOSPACE",
	},
	DeviceThrottled: {
		"device_throttled", "", Flag,
		"TCP waits until the own device has sent (TCP small queues); absent without --with waits",
		"sock.sk_tsq_flags, TSQ_THROTTLED",
	},
	DeviceWaitUs: {
		"device_wait_us", "µs", Gauge,
		"longest wait of 10 µs or more of a packet between TCP and the device since the last sample, else 0; absent " +
			"without --with waits",
		"net_dev_start_xmit, sk_buff.skb_mstamp_ns",
	},
	MergedPackets: {
		"merged_packets", "packets", Gauge,
		"segments that the arriving one stands for: joined by GRO or in the socket's backlog, or never split; " +
			"absent without --with merges",
		"skb_shared_info.gso_segs",
	},

	CubicKMs: {
		"cubic_k_ms", "ms", Gauge, "K: time from the start of the epoch to the origin point",
		"bictcp.bic_K * 1000 / 1024",
	},
	CubicWmaxPackets: {
		"cubic_wmax_packets", "packets", Gauge, "Wmax: window before the last reduction (after fast convergence)",
		"bictcp.last_max_cwnd",
	},
	CubicOriginPackets: {
		"cubic_origin_packets", "packets", Gauge, "origin point of the cubic", "bictcp.bic_origin_point",
	},
	CubicEpochNs: {
		"cubic_epoch_ns", "ns", Gauge, "start of the epoch (monotonic clock); absent outside an epoch",
		"bictcp.epoch_start",
	},
	CubicTargetPackets: {
		"cubic_target_packets", "packets", Gauge,
		"window that the cubic aims at, one minimum RTT ahead; absent outside an epoch", "bictcp_update, computed",
	},
	CubicRenoPackets: {
		"cubic_reno_packets", "packets", Gauge, "window that Reno would have (the TCP-friendly region)",
		"bictcp.tcp_cwnd",
	},
	CubicCnt: {
		"cubic_cnt", "packets", Gauge, "ACKed segments for an increase of cwnd by one", "bictcp.cnt",
	},
	CubicDelayMinUs: {
		"cubic_delay_min_us", "µs", Gauge, "minimum delay that CUBIC has seen", "bictcp.delay_min",
	},
	BBRMode: {"bbr_mode", "", Enum, "mode: 0 startup, 1 drain, 2 probe_bw, 3 probe_rtt", "bbr.mode"},
	BBRBandwidthBps: {
		"bbr_bandwidth_bps", "bit/s", Gauge, "bottleneck bandwidth estimate", "bbr.bw * mss_cache",
	},
	BBRMinRttUs:      {"bbr_min_rtt_us", "µs", Gauge, "minimum RTT of BBR's own window", "bbr.min_rtt_us"},
	BBRPacingGainPct: {"bbr_pacing_gain_pct", "%", Gauge, "pacing gain", "bbr.pacing_gain * 100 / 256"},
	BBRCwndGainPct:   {"bbr_cwnd_gain_pct", "%", Gauge, "cwnd gain", "bbr.cwnd_gain * 100 / 256"},
	BBRFullBandwidth: {"bbr_full_bandwidth", "", Flag, "startup has filled the pipe", "bbr.full_bw_reached"},
	CompoundDelayPackets: {
		"compound_delay_packets", "packets", Gauge, "delay part of the window", "cc_compound.delay_part / 256",
	},
	CompoundGammaPackets: {
		"compound_gamma_packets", "packets", Gauge,
		"packets that may wait in the path's queue before the delay part shrinks", "cc_compound.gamma / 256",
	},
	CompoundRenoQueuedPackets: {
		"compound_reno_queued_packets", "packets", Gauge,
		"packets of the Reno part that waited in the last round; absent before there was one",
		"cc_compound.diff_reno / 256",
	},
	CompoundBaseRttUs: {
		"compound_base_rtt_us", "µs", Gauge, "least RTT since the connection began or its last timeout",
		"cc_compound.base_rtt",
	},

	UnackedBytes: {
		"unacked_bytes", "bytes", Gauge, "sent and not cumulatively acknowledged", "snd_nxt - snd_una",
	},
	UnsentBytes:     {"unsent_bytes", "bytes", Gauge, "written and not sent", "write_seq - snd_nxt"},
	SendQueuedBytes: {"send_queued_bytes", "bytes", Gauge, "written and not acknowledged", "write_seq - snd_una"},
	ReceiveQueuedBytes: {
		"receive_queued_bytes", "bytes", Gauge, "received in order and not read", "rcv_nxt - copied_seq",
	},
	InFlightBytes: {
		"in_flight_bytes", "bytes", Gauge,
		"in flight: in_flight_packets of one MSS, at most unacked_bytes when nothing is retransmitted",
		"tcp_packets_in_flight * mss_cache",
	},
	Direction: {
		"direction", "", Enum,
		"1 a pure ACK came in (this end sends), 2 data came in (this end receives); absent when no segment " +
			"caused the sample",
		"segment_bytes",
	},
}

// PlainName is a name without the unit at its end: cwnd for cwnd_packets. Other names stay as they
// are.
func PlainName(name string) string {
	for _, unit := range []string{"_packets", "_bytes", "_bps", "_us", "_ns", "_s"} {
		if plain, ok := strings.CutSuffix(name, unit); ok {
			return plain
		}
	}
	return name
}
