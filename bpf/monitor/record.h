/* SPDX-License-Identifier: GPL-2.0 */
/* The records that tcp_monitor.bpf.c gives to user space. The Go types are generated from this
 * file (internal/observe/bpf/monitor_*_bpfel.go), so the layout stands here alone.
 *
 * Every record begins with its kind and has flow and time_ns in its second and third 64-bit
 * word: user space merges the rings by time.
 *
 * All numbers are the kernel's own units (jiffies, 1/8 us, raw sequence numbers); user space
 * converts. */
#ifndef AIRTIDE_RECORD_H
#define AIRTIDE_RECORD_H

enum mon_record_kind {
	RECORD_SAMPLE = 1,
	RECORD_FLOW = 2,
	RECORD_EVENT = 3,
	RECORD_DROP = 4,
};

/* Parts that are observed on demand (record --with). */
enum mon_with_parts {
	WITH_DROPS = 1,
	WITH_HANDSHAKE = 2,
	WITH_TIMESTAMPS = 4,
	WITH_WAITS = 8,
	WITH_UDP = 16,
	WITH_HALF_CLOSED = 32,
	WITH_MERGES = 64,
};

/* Numbers equal tcp.EventKind; a test holds them together. */
enum mon_event_kind {
	EVENT_OPEN = 1,
	EVENT_CLOSE = 2,
	EVENT_STATE = 3,
	EVENT_CA_STATE = 4,
	EVENT_REORDERING = 5,
	EVENT_LOCAL_CONGESTION = 6,
	EVENT_DUP_ACK = 7,
	EVENT_SACK = 8,
	EVENT_DSACK = 9,
	EVENT_TIMEOUT = 10,
	EVENT_RETRANSMIT = 11,
	EVENT_UNDO = 12,
	EVENT_ECN_ECHO = 13,
	EVENT_ZERO_WINDOW = 14,
	EVENT_WINDOW_OPEN = 15,
	EVENT_LOCAL_ZERO_WINDOW = 16,
	EVENT_CC_CHANGE = 17,
	EVENT_TLP_LOSS = 18,
	EVENT_DROP = 19,
	EVENT_HANDSHAKE = 20,
};

/* Numbers equal tcp.Cause. */
enum mon_cause {
	CAUSE_NONE,
	CAUSE_FAST,
	CAUSE_RTO,
	CAUSE_RTO_RECOVERY,
	CAUSE_TLP,
	CAUSE_RACK_TIMER,
	CAUSE_SYN,
	CAUSE_OTHER,
};

/* Numbers equal tcp.Reason. */
enum mon_reason {
	REASON_NONE,
	REASON_LOCAL_FIN,
	REASON_REMOTE_FIN,
	REASON_RESET_RECEIVED,
	REASON_RESET_SENT,
	REASON_TIMED_OUT,
	REASON_REFUSED,
	REASON_UNREACHABLE,
	REASON_ABORTED,
	REASON_UNDO_TIMESTAMP,
	REASON_UNDO_DSACK,
	REASON_STILL_OPEN,
	REASON_UNKNOWN,
	REASON_DEVICE_REFUSED,
};

enum mon_sample_flags {
	SAMPLE_PACKET = 1, /* a segment arrived: the packet fields are valid */
	SAMPLE_CC = 2, /* cc[] holds icsk_ca_priv */
	SAMPLE_CWND_LIMITED = 4,
	SAMPLE_APP_LIMITED = 8,
	SAMPLE_SEND_BUFFER_FIXED = 16, /* the program has set it or tcp_wmem bounds it: the kernel does not grow it */
	SAMPLE_RECEIVE_BUFFER_FIXED = 32,
};

#define CC_WORDS 13 /* ICSK_CA_PRIV_SIZE is 104 bytes (include/net/inet_connection_sock.h) */
#define MORE_WORDS 2

/* Bits of the second word of WITH_TIMESTAMPS, WITH_WAITS and WITH_MERGES. Behind them come the
 * segments that the arriving one stands for, and the longest wait of a packet for the device since
 * the sample before, in ns. */
enum mon_more_flags {
	MORE_TIMESTAMPS = 1, /* the segment had timestamps */
	MORE_BLOCKED = 2, /* a writer waits for room in the send buffer */
	MORE_THROTTLED = 4, /* TCP waits for the own device (TCP small queues) */
	MORE_SEGMENTS = 8, /* bits below the number of segments */
	MORE_WAIT = 24, /* bits below the wait */
};

struct sample_record {
	__u8 kind; /* RECORD_SAMPLE */
	__u8 flags; /* enum mon_sample_flags */
	__u8 ca_state; /* icsk_ca_state: 0 open .. 4 loss */
	__u8 state; /* TCP state, 1 established */
	__u8 tcp_flags; /* of the segment, as in its header */
	__u8 sack_blocks; /* in the segment */
	__u8 backoff; /* doublings of the RTO */
	__u8 chrono_type; /* present limit: enum tcp_chrono */
	__u64 flow; /* number of the flow */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 bytes_acked; /* bytes of the stream */
	__u64 bytes_received; /* bytes of the stream */
	__u64 bytes_retrans; /* bytes sent again */
	__u64 pacing_rate; /* bytes per second */
	__u32 jiffies; /* the clock of chrono_start */
	__u32 ack; /* of the segment, raw */
	__u32 seq; /* of the segment, raw */
	__u32 payload; /* bytes of the segment */
	__u32 peer_window; /* bytes, scaled, in the segment */
	__u32 cwnd; /* packets */
	__u32 ssthresh; /* packets */
	__u32 packets_out; /* packets sent and not acknowledged */
	__u32 lost_out; /* packets marked lost */
	__u32 sacked_out; /* packets acknowledged by SACK */
	__u32 retrans_out; /* packets sent again and not acknowledged */
	__u32 reordering; /* packets */
	__u32 mss; /* bytes: mss_cache */
	__u32 srtt; /* 1/8 us */
	__u32 mdev; /* 1/4 us */
	__u32 rtt; /* us, latest; 0 without one */
	__u32 min_rtt; /* us */
	__u32 receiver_rtt; /* 1/8 us */
	__u32 rto; /* jiffies */
	__u32 snd_wnd; /* bytes */
	__u32 rcv_wnd; /* bytes */
	__u32 snd_una; /* raw sequence number */
	__u32 snd_nxt; /* raw sequence number */
	__u32 write_seq; /* raw: end of what was written */
	__u32 rcv_nxt; /* raw sequence number */
	__u32 copied_seq; /* raw: end of what was read */
	__u32 backlog; /* bytes */
	__u32 sndbuf; /* bytes */
	__u32 rcvbuf; /* bytes */
	__u32 wmem_queued; /* bytes in the send queue */
	__u32 wmem_alloc; /* bytes in the device queue */
	__u32 rmem_alloc; /* bytes in the receive queue */
	__u32 forward_alloc; /* bytes reserved */
	__u32 out_of_order; /* packets received out of order */
	__u32 delivered; /* packets */
	__u32 delivered_ce; /* packets with CE */
	__u32 lost; /* packets ever marked lost */
	__u32 total_retrans; /* packets sent again */
	__u32 dsack_dups; /* duplicates that DSACK told of */
	__u32 reord_seen; /* reorderings */
	__u32 rate_delivered; /* packets of the last rate sample */
	__u32 rate_interval_us; /* us of the last rate sample */
	__u32 chrono_stat[3]; /* jiffies busy, limited by rwnd, by sndbuf */
	__u32 chrono_start; /* jiffies: start of the present one */
	/* As far as user space can read it. Behind it, with WITH_TIMESTAMPS or WITH_WAITS: TSval and
	 * TSecr, and the word of mon_more_flags. The slots end there. */
	__u64 cc[CC_WORDS + MORE_WORDS];
};

enum mon_flow_flags {
	FLOW_INHERITED = 1, /* already established when first seen */
	FLOW_UNDECIDED = 2, /* passes but for the owner, which is not known yet: user space holds its records */
	FLOW_REJECTED = 4, /* was undecided and does not pass, or is gone: nothing more will come */
};

/* Says who a flow is; sent at first sight, and again when the owner or inode becomes known.
 * first_ns of a connection that this host opened is the time of connect(). */
struct flow_record {
	__u8 kind; /* RECORD_FLOW */
	__u8 flags; /* enum mon_flow_flags */
	__u16 family; /* AF_INET or AF_INET6 */
	__u32 netns; /* inode of the network namespace */
	__u64 flow; /* number of the flow */
	__u64 time_ns; /* CLOCK_MONOTONIC of this record */
	__u64 first_ns; /* CLOCK_MONOTONIC of the first sight */
	__u8 local[16]; /* IPv4 in the first four bytes when family is AF_INET */
	__u8 remote[16]; /* like local */
	__u16 local_port; /* host byte order */
	__u16 remote_port; /* host byte order */
	__u32 pid; /* 0 while unknown */
	__u64 cgroup; /* ID of the cgroup (v2) */
	__u64 inode; /* of the socket, 0 while unknown */
	char comm[16]; /* name of the process */
	char cc[16]; /* congestion control */
};

#define MAX_BLOCKS 4

struct event_record {
	__u8 kind; /* RECORD_EVENT */
	__u8 event; /* enum mon_event_kind */
	__u8 code; /* tcp.ErrorCode */
	__u8 cause; /* enum mon_cause */
	__u8 reason; /* enum mon_reason */
	__u8 from; /* state before: TCP state or ca_state */
	__u8 to; /* state after */
	__u8 ca_state; /* icsk_ca_state */
	__u64 flow; /* number of the flow */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u8 blocks; /* number of SACK blocks; of timeouts found by comparing, their number */
	__u8 from_sample; /* 1 if found by comparing, at a segment */
	__u16 cpu; /* number of the processor */
	__u32 cwnd; /* packets */
	__u64 bytes_acked; /* with snd_una: the origin of stream offsets */
	__u64 bytes_received; /* with rcv_nxt: the origin of offsets received */
	__u32 snd_una; /* raw sequence number */
	__u32 rcv_nxt; /* raw sequence number */
	__u32 ssthresh; /* packets */
	__u32 in_flight; /* packets */
	__u32 seq; /* raw: begin of the segment sent again */
	__u32 end_seq; /* raw: its end */
	__s64 value; /* unit depends on the event: tcp.Event.Value */
	__u32 sack[2 * MAX_BLOCKS]; /* start, end of each block, raw */
	char text[16]; /* EVENT_CC_CHANGE: the new congestion control */
};

/* A packet that this host dropped. User space finds its flows by the addresses. */
struct drop_record {
	__u8 kind; /* RECORD_DROP */
	__u8 tcp_flags; /* of the segment, as in its header */
	__u16 family; /* AF_INET or AF_INET6 */
	__u32 reason; /* enum skb_drop_reason */
	__u64 flow; /* 0 */
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u8 source[16]; /* IPv4 in the first four bytes when family is AF_INET */
	__u8 destination[16];
	__u16 source_port;
	__u16 destination_port;
	__u32 seq; /* of the segment, raw */
	__u32 payload; /* bytes; of all segments when they are joined */
	__u32 netns; /* of the device, 0 without one */
	char device[16];
};

enum mon_counter {
	COUNTER_LOST, /* ring full */
	COUNTER_UNTRACKED, /* table of flows full */
	COUNTER_UNOWNED, /* ended before their owner was known, with a filter by process */
	COUNTER_IP_BYTES, /* of packets of this host's sockets */
	COUNTER_UDP_443_BYTES, /* of those of UDP from or to port 443 */
	COUNTER_SYNACK_AGAIN, /* handshakes whose SYN-ACK was sent again */
	COUNTER_SYNACK_DONE, /* those of them that opened a connection */
	COUNTERS,
};

/* How deep hooks nest on a processor; one level to spare. See ring.h. */
enum mon_ring_limits {
	RING_LEVELS = 3,
};

/* A ring's ends, on cache lines of their own: one is the programs', the other user space's. Both
 * only grow. */
struct ring_control {
	__u64 produced;
	__u64 unused[7];
	__u64 consumed;
	__u64 unused_too[7];
};

#endif
