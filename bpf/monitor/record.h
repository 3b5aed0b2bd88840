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

enum record_kind {
	RECORD_SAMPLE = 1,
	RECORD_FLOW = 2,
	RECORD_EVENT = 3,
};

/* Numbers equal tcp.EventKind; a test holds them together. */
enum event_kind {
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
};

/* Numbers equal tcp.Cause. */
enum cause {
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
enum reason {
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

enum sample_flags {
	SAMPLE_PACKET = 1, /* a segment arrived: the packet fields are valid */
	SAMPLE_CC = 2, /* cc[] holds icsk_ca_priv */
	SAMPLE_CWND_LIMITED = 4,
	SAMPLE_APP_LIMITED = 8,
};

#define CC_WORDS 13 /* ICSK_CA_PRIV_SIZE is 104 bytes (include/net/inet_connection_sock.h) */

struct sample_record {
	__u8 kind;
	__u8 flags;
	__u8 ca_state;
	__u8 state;
	__u8 tcp_flags;
	__u8 sack_blocks;
	__u8 backoff;
	__u8 chrono_type;
	__u64 flow;
	__u64 time_ns;
	__u64 bytes_acked;
	__u64 bytes_received;
	__u64 bytes_retrans;
	__u64 pacing_rate;
	__u32 jiffies;
	__u32 ack;
	__u32 seq;
	__u32 payload;
	__u32 peer_window;
	__u32 cwnd;
	__u32 ssthresh;
	__u32 packets_out;
	__u32 lost_out;
	__u32 sacked_out;
	__u32 retrans_out;
	__u32 reordering;
	__u32 mss;
	__u32 srtt;
	__u32 mdev;
	__u32 rtt;
	__u32 min_rtt;
	__u32 receiver_rtt;
	__u32 rto;
	__u32 snd_wnd;
	__u32 rcv_wnd;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 write_seq;
	__u32 rcv_nxt;
	__u32 copied_seq;
	__u32 backlog;
	__u32 sndbuf;
	__u32 rcvbuf;
	__u32 wmem_queued;
	__u32 wmem_alloc;
	__u32 rmem_alloc;
	__u32 forward_alloc;
	__u32 out_of_order;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 lost;
	__u32 total_retrans;
	__u32 dsack_dups;
	__u32 reord_seen;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	__u32 chrono_stat[3];
	__u32 chrono_start;
	__u64 cc[CC_WORDS]; /* as far as user space can read it: the slots end there */
};

enum flow_flags {
	FLOW_INHERITED = 1, /* already established when first seen */
	FLOW_UNDECIDED = 2, /* passes but for the owner, which is not known yet: user space holds its records */
	FLOW_REJECTED = 4, /* was undecided and does not pass, or is gone: nothing more will come */
};

/* Says who a flow is; sent at first sight, and again when the owner or inode becomes known.
 * time_ns is when the flow was first seen: of a connection opened by this host the time of
 * connect(). */
struct flow_record {
	__u8 kind;
	__u8 flags;
	__u16 family;
	__u32 netns;
	__u64 flow;
	__u64 time_ns;
	__u64 first_ns;
	__u8 local[16]; /* IPv4 in the first four bytes when family is AF_INET */
	__u8 remote[16];
	__u16 local_port;
	__u16 remote_port;
	__u32 pid;
	__u64 cgroup;
	__u64 inode;
	char comm[16];
	char cc[16];
};

#define MAX_BLOCKS 4

struct event_record {
	__u8 kind;
	__u8 event;
	__u8 code;
	__u8 cause;
	__u8 reason;
	__u8 from;
	__u8 to;
	__u8 ca_state;
	__u64 flow;
	__u64 time_ns;
	__u8 blocks;
	__u8 from_sample;
	__u16 cpu;
	__u32 cwnd;
	__u64 bytes_acked; /* with snd_una: the origin of stream offsets */
	__u64 bytes_received;
	__u32 snd_una;
	__u32 rcv_nxt;
	__u32 ssthresh;
	__u32 in_flight;
	__u32 seq;
	__u32 end_seq;
	__s64 value;
	__u32 sack[2 * MAX_BLOCKS]; /* start, end of each block */
	char text[16];
};

enum counter {
	COUNTER_LOST, /* ring full */
	COUNTER_UNTRACKED, /* table of flows full */
	COUNTER_UNOWNED, /* ended before their owner was known, with a filter by process */
	COUNTERS,
};

/* How deep hooks nest on a processor; one level to spare. See ring.h. */
enum ring_limits {
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
