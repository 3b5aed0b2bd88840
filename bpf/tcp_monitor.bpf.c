// SPDX-License-Identifier: GPL-2.0
/*
 * Samples and events of TCP connections, per ACK. docs/monitor.md says how each event is recognised.
 *
 * Each hook comes twice: as tp_btf, where fields are read through typed pointers, and as raw_tp for kernels that
 * refuse tp_btf, where the whole tcp_sock is first copied into scratch memory and the same code reads the copy.
 */
#include "kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "record.h"
#include "flow.h"

char LICENSE[] SEC("license") = "GPL";

enum density {
	DENSITY_EVERY,
	DENSITY_CHANGE,
	DENSITY_AT_MOST,
};

volatile const u32 density;
volatile const u64 density_ns;
/* Whether the kernel has tcp_cong_state_set (5.19); without it states are compared at each ACK and retransmission. */
volatile const bool has_cong_state_set;
/* Whether tcp_retransmit_skb passes the result of the transmission as a third argument. */
volatile const bool retransmit_has_result;

static __always_inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

static __always_inline u8 ca_state_of(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_state);
}

/* tcp_packets_in_flight in include/net/tcp.h */
static __always_inline u32 in_flight(struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* P4's error code of an event. */
static __always_inline u8 code_of(u8 kind)
{
	switch (kind) {
	case EVENT_REORDERING:
		return 1;
	case EVENT_LOCAL_CONGESTION:
		return 2;
	case EVENT_DUP_ACK:
	case EVENT_SACK:
	case EVENT_DSACK:
		return 3;
	case EVENT_TIMEOUT:
		return 4;
	}
	return 0;
}

/* An event with all that every kind has; the caller adds the rest and submits. */
static __always_inline struct event_record *event_start(struct flow_state *fs, struct tcp_sock *tp, u8 kind)
{
	struct event_record *e = reserve();

	if (!e)
		return NULL;
	__builtin_memset(e, 0, sizeof(*e));
	e->kind = RECORD_EVENT;
	e->event = kind;
	e->code = code_of(kind);
	e->ca_state = ca_state_of(tp);
	e->cpu = bpf_get_smp_processor_id();
	e->cwnd = tp->snd_cwnd;
	e->flow = fs->id;
	e->time_ns = bpf_ktime_get_ns();
	e->bytes_acked = tp->bytes_acked;
	e->bytes_received = tp->bytes_received;
	e->snd_una = tp->snd_una;
	e->rcv_nxt = tp->rcv_nxt;
	e->ssthresh = tp->snd_ssthresh;
	e->in_flight = in_flight(tp);
	return e;
}

/* How an event was found: by a hook or packet of its own, or by comparing the socket with how it was seen last. */
enum found {
	AT_ONCE,
	BY_DIFFERENCE,
};

/* An event whose only particular is a value. */
static __noinline int event_value(struct flow_state *fs, struct tcp_sock *tp, u8 kind, s64 value, u8 found)
{
	struct event_record *e;

	if (!fs || !tp)
		return 0;
	e = event_start(fs, tp, kind);
	if (!e)
		return 0;
	e->value = value;
	e->from_sample = found;
	submit();
	return 0;
}

#define MAX_BACKOFF 16 /* TCP_RTO_MAX is reached long before */

#define CHANGE(from, to) ((u32)(from) | (u32)(to) << 8)

static __noinline int event_change(struct flow_state *fs, struct tcp_sock *tp, u8 kind, u32 change, u8 found)
{
	struct event_record *e;

	if (!fs || !tp)
		return 0;
	e = event_start(fs, tp, kind);
	if (!e)
		return 0;
	e->from = change;
	e->to = change >> 8;
	e->from_sample = found;
	submit();
	return 0;
}

/*
 * A reduction was undone when undo_marker, set on entering Recovery or Loss (tcp_init_undo), is zero again
 * (tcp_undo_cwnd_reduction in net/ipv4/tcp_input.c). tcp_enter_cwr and tcp_simple_retransmit clear it without undoing
 * anything; they clear prior_ssthresh as well, which is also zero where congestion is proven and nothing is restored.
 * The verdict came by DSACK when every retransmission has been reported (undo_retrans is 0), else by timestamps or
 * F-RTO (tcp_may_undo).
 */
static __noinline int check_undo(struct flow_state *fs, struct tcp_sock *tp, u8 state, u8 found)
{
	u32 marker;

	if (!fs || !tp)
		return 0;
	marker = tp->undo_marker;
	if (fs->undo_marker && !marker && tp->prior_ssthresh && fs->marker_state >= TCP_CA_Recovery) {
		struct event_record *e = event_start(fs, tp, EVENT_UNDO);

		if (e) {
			e->from = fs->marker_state;
			e->to = state;
			e->reason = tp->undo_retrans == 0 ? REASON_UNDO_DSACK : REASON_UNDO_TIMESTAMP;
			e->from_sample = found;
			submit();
		}
	}
	fs->undo_marker = marker;
	if (marker && state >= TCP_CA_Recovery)
		fs->marker_state = state;
	return 0;
}

/* Whether the tail-loss probe was a retransmission; only of such an ACK can say that it mended a loss. */
static __always_inline bool probe_was_retransmission(struct tcp_sock *tp)
{
	return !bpf_core_field_exists(tp->tlp_retrans) || BPF_CORE_READ_BITFIELD(tp, tlp_retrans);
}

/* What is behind an entry into CWR (tcp_enter_cwr, tcp_process_tlp_ack): mended tail loss, ECN, or the own device. */
static __always_inline void explain_cwr(struct flow_state *fs, struct tcp_sock *tp, u8 found)
{
	if (fs->tlp_high_seq && before(fs->tlp_high_seq, fs->last_ack) && probe_was_retransmission(tp)) {
		fs->tlp_high_seq = 0;
		event_value(fs, tp, EVENT_TLP_LOSS, 0, found);
		return;
	}
	if (fs->ece || tp->delivered_ce != fs->delivered_ce)
		return;
	event_value(fs, tp, EVENT_LOCAL_CONGESTION, 0, found);
}

/*
 * The retransmission timer clears icsk_pending before it calls tcp_enter_loss (tcp_write_timer_handler); the other way
 * into Loss, a path MTU decrease (tcp_simple_retransmit), leaves it set.
 */
static __always_inline bool in_retransmit_timer(struct tcp_sock *tp)
{
	return tp->inet_conn.icsk_pending == 0;
}

/* tcp_enter_loss sets Loss at every timeout, the second and third in a row too. */
static __noinline int ca_state_changes(struct flow_state *fs, struct tcp_sock *tp, u8 old, u8 now, u8 found)
{
	if (!fs || !tp)
		return 0;
	check_undo(fs, tp, now, found);
	if (now == TCP_CA_Loss) {
		fs->loss_by_mtu = !in_retransmit_timer(tp) && found == AT_ONCE;
		if (in_retransmit_timer(tp)) {
			event_value(fs, tp, EVENT_TIMEOUT, tp->inet_conn.icsk_rto, AT_ONCE);
			fs->timeouts = tp->inet_conn.icsk_backoff + 1; /* it backs off when it has sent */
		}
	}
	if (now == old) {
		/* Of those who set CWR only a tail-loss probe's ACK does so in CWR too (tcp_process_tlp_ack). */
		if (now == TCP_CA_CWR)
			explain_cwr(fs, tp, found);
		return 0;
	}
	event_change(fs, tp, EVENT_CA_STATE, CHANGE(old, now), found);
	if (now == TCP_CA_CWR)
		explain_cwr(fs, tp, found);
	fs->ca_state = now;
	return 0;
}

struct packet {
	u32 seq;
	u32 ack;
	u32 window;
	u32 payload;
	u8 flags;
	u8 blocks;
	u8 dsack;
	u32 sack[2 * MAX_BLOCKS];
};

#define TCP_HEADER 20
#define TCP_OPTIONS 40
#define FLAG_SYN 2
#define FLAG_RST 4
#define FLAG_ECE 64
#define OPTION_EOL 0
#define OPTION_NOP 1
#define OPTION_SACK 5
#define OPTION_TIMESTAMP_PADDED 12

/* More than any stack sends: a timestamp, SACK and the padding of both are six. It bounds the verifier's work. */
#define MAX_OPTIONS 12

/* Not on the stack: kernels before 5.12 refuse to read there at an offset that is not constant. */
struct options {
	u8 bytes[TCP_OPTIONS + 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct options);
} options_scratch SEC(".maps");

/* Finds the SACK option (RFC 2018) and whether its first block is a DSACK (RFC 2883 section 4). */
static __noinline int parse_sack(struct packet *p, const u8 *header, u32 length)
{
	u32 zero = 0, at = 0;
	struct options *options = bpf_map_lookup_elem(&options_scratch, &zero);

	if (!p || !header || !options)
		return 0;
	if (length > TCP_OPTIONS)
		length = TCP_OPTIONS;
	if (bpf_probe_read_kernel(options->bytes, TCP_OPTIONS, header + TCP_HEADER))
		return 0;
	for (int i = 0; i < MAX_OPTIONS; i++) {
		u32 kind, size, n;

		if (at + 1 >= length || at >= TCP_OPTIONS - 1)
			return 0;
		kind = options->bytes[at];
		if (kind == OPTION_EOL)
			return 0;
		if (kind == OPTION_NOP) {
			at++;
			continue;
		}
		size = options->bytes[at + 1];
		if (size < 2)
			return 0;
		if (kind != OPTION_SACK) {
			at += size;
			continue;
		}
		n = (size - 2) / 8;
		if (n > MAX_BLOCKS)
			n = MAX_BLOCKS;
		if (at + 2 + 8 * n > length)
			return 0;
		if (bpf_probe_read_kernel(p->sack, sizeof(p->sack), header + TCP_HEADER + at + 2))
			return 0;
		for (int b = 0; b < 2 * MAX_BLOCKS; b++)
			p->sack[b] = bpf_ntohl(p->sack[b]);
		p->blocks = n;
		p->dsack = n && (before(p->sack[0], p->ack) ||
				 (n > 1 && !before(p->sack[0], p->sack[2]) && !before(p->sack[3], p->sack[1])));
		return 0;
	}
	return 0;
}

/*
 * header and len come from the sk_buff, which the two kinds of programs read in their own ways. typed says that this is
 * a program that may read the header through a typed pointer, which is cheaper than a copy.
 */
static __always_inline bool parse(struct packet *p, struct tcp_sock *tp, const u8 *header, u32 len, bool typed)
{
	u32 size, control;

	if (typed && bpf_rdonly_cast && bpf_core_type_exists(union tcp_word_hdr)) {
		union tcp_word_hdr *h = bpf_rdonly_cast(header, bpf_core_type_id_kernel(union tcp_word_hdr));

		p->seq = bpf_ntohl(h->words[1]);
		p->ack = bpf_ntohl(h->words[2]);
		control = bpf_ntohl(h->words[3]);
	} else {
		u32 words[5] = {};

		if (bpf_probe_read_kernel(words, sizeof(words), header))
			return false;
		p->seq = bpf_ntohl(words[1]);
		p->ack = bpf_ntohl(words[2]);
		control = bpf_ntohl(words[3]);
	}
	/* Data offset, flags and window share a word. */
	size = control >> 28 << 2;
	p->flags = control >> 16;
	p->window = (control & 0xffff) << BPF_CORE_READ_BITFIELD(tp, rx_opt.snd_wscale);
	p->payload = len > size ? len - size : 0;
	/* Nearly every header has a timestamp, which every segment then carries, and nothing besides. */
	if (size > TCP_HEADER + OPTION_TIMESTAMP_PADDED ||
	    (size > TCP_HEADER && !BPF_CORE_READ_BITFIELD(tp, rx_opt.tstamp_ok)))
		parse_sack(p, header, size - TCP_HEADER);
	return true;
}

/* Code 3: what the ACK says about segments that did not arrive in order. */
static __noinline int ack_events(struct flow_state *fs, struct tcp_sock *tp, struct packet *p)
{
	struct event_record *e;
	u8 kind;

	if (!fs || !tp || !p)
		return 0;
	if (p->blocks)
		kind = p->dsack ? EVENT_DSACK : EVENT_SACK;
	else if (p->ack == tp->snd_una && !p->payload && tp->packets_out && p->window == tp->snd_wnd && !(p->flags & 7))
		kind = EVENT_DUP_ACK; /* RFC 5681 section 2 */
	else
		return 0;
	e = event_start(fs, tp, kind);
	if (!e)
		return 0;
	e->seq = p->ack;
	e->blocks = p->blocks;
	__builtin_memcpy(e->sack, p->sack, sizeof(e->sack));
	submit();
	return 0;
}

/*
 * Timeouts that no hook has shown: where the kernel lacks tcp_cong_state_set and nothing could be sent, because the
 * segment was still in the own device's queue. They backed off all the same (tcp_retransmit_timer).
 */
static __noinline int unseen_timeouts(struct flow_state *fs, struct tcp_sock *tp)
{
	u32 backoff, rto;

	if (!fs || !tp)
		return 0;
	backoff = tp->inet_conn.icsk_backoff;
	rto = tp->inet_conn.icsk_rto;
	if (ca_state_of(tp) == TCP_CA_Loss)
		for (u32 n = fs->timeouts; n < backoff && n < MAX_BACKOFF; n++)
			event_value(fs, tp, EVENT_TIMEOUT, rto >> ((backoff - n) & 31), BY_DIFFERENCE);
	fs->timeouts = backoff;
	return 0;
}

/* A change of congestion control: its table of functions is another. */
static __noinline int cc_changed(struct flow_state *fs, struct tcp_sock *tp)
{
	const struct tcp_congestion_ops *ops;
	struct event_record *e;

	if (!fs || !tp)
		return 0;
	ops = tp->inet_conn.icsk_ca_ops;
	private_state_of(fs, tp);
	e = event_start(fs, tp, EVENT_CC_CHANGE);
	if (!e)
		return 0;
	e->from_sample = BY_DIFFERENCE;
	bpf_probe_read_kernel_str(e->text, sizeof(e->text), &ops->name);
	submit();
	return 0;
}

/* Events that are seen by comparing the socket with how the last ACK or change of state found it. */
static __always_inline void socket_differences(struct flow_state *fs, struct tcp_sock *tp)
{
	u8 state = ca_state_of(tp), zero;

	if (fs->ca_ops != (u64)tp->inet_conn.icsk_ca_ops)
		cc_changed(fs, tp);
	if (tp->inet_conn.icsk_backoff != fs->timeouts)
		unseen_timeouts(fs, tp);
	if (!has_cong_state_set && state != fs->ca_state)
		ca_state_changes(fs, tp, fs->ca_state, state, BY_DIFFERENCE);
	else if (tp->undo_marker != fs->undo_marker)
		check_undo(fs, tp, state, BY_DIFFERENCE);
	fs->ca_state = state;
	if (bpf_core_field_exists(tp->reord_seen) && tp->reord_seen != fs->reord_seen) {
		event_value(fs, tp, EVENT_REORDERING, tp->reordering, BY_DIFFERENCE);
		fs->reord_seen = tp->reord_seen;
	}
	zero = tp->rcv_wnd == 0;
	if (zero != fs->local_zero_window) {
		if (zero)
			event_value(fs, tp, EVENT_LOCAL_ZERO_WINDOW, 0, BY_DIFFERENCE);
		fs->local_zero_window = zero;
	}
}

/* Events that the arriving segment itself tells. */
static __always_inline void segment_events(struct flow_state *fs, struct tcp_sock *tp, struct packet *p)
{
	u8 zero, ece;

	if (p->blocks || (p->ack == tp->snd_una && !p->payload && tp->packets_out))
		ack_events(fs, tp, p);
	/* Where AccECN is in use the bit is a part of a count (tcp_ecn_rcv_ecn_echo looks at the mode as well). */
	ece = (p->flags & FLAG_ECE) && (tp->ecn_flags & TCP_ECN_MODE_RFC3168);
	if (ece && !fs->ece)
		event_value(fs, tp, EVENT_ECN_ECHO, tp->delivered_ce, AT_ONCE);
	fs->ece = ece;
	/* The window of a reset means nothing and that of a SYN is not scaled. */
	if (!(p->flags & (FLAG_SYN | FLAG_RST))) {
		zero = p->window == 0;
		if (zero != fs->peer_zero_window) {
			event_value(fs, tp, zero ? EVENT_ZERO_WINDOW : EVENT_WINDOW_OPEN, p->window, AT_ONCE);
			fs->peer_zero_window = zero;
		}
	}
	fs->last_ack = p->ack;
	fs->tlp_high_seq = tp->tlp_high_seq;
	fs->delivered_ce = tp->delivered_ce;
}

static __always_inline bool dense_enough(struct flow_state *fs, struct tcp_sock *tp, u64 now)
{
	if (density == DENSITY_AT_MOST) {
		if (now - fs->last_sample_ns < density_ns)
			return false;
	} else if (density == DENSITY_CHANGE) {
		u8 backoff = tp->inet_conn.icsk_backoff, state = ca_state_of(tp);
		u8 chrono = BPF_CORE_READ_BITFIELD(tp, chrono_type);

		/* The chronograph that runs tells the limit: the peer's window, the send buffer, or else none. */
		if (chrono == TCP_CHRONO_BUSY)
			chrono = 0;
		if (fs->last_sample_ns && fs->cwnd == tp->snd_cwnd && fs->ssthresh == tp->snd_ssthresh &&
		    fs->lost == tp->lost && fs->total_retrans == tp->total_retrans && fs->backoff == backoff &&
		    fs->sampled_ca_state == state && fs->limit == chrono)
			return false;
		fs->cwnd = tp->snd_cwnd;
		fs->ssthresh = tp->snd_ssthresh;
		fs->lost = tp->lost;
		fs->total_retrans = tp->total_retrans;
		fs->backoff = backoff;
		fs->sampled_ca_state = state;
		fs->limit = chrono;
	}
	return true;
}

/* sk is the same socket as tp. In a tp_btf program the verifier trusts it, and reads of it need no check. */
static __always_inline void sample(struct flow_state *fs, const struct sock *sk, struct tcp_sock *tp, struct packet *p,
				   u8 state, u64 now)
{
	struct sample_record *s = reserve();
	u8 flags = SAMPLE_CC;

	if (!s)
		return;
	s->kind = RECORD_SAMPLE;
	s->ca_state = ca_state_of(tp);
	s->state = state;
	s->backoff = tp->inet_conn.icsk_backoff;
	s->chrono_type = BPF_CORE_READ_BITFIELD(tp, chrono_type);
	s->flow = fs->id;
	s->time_ns = now;
	s->jiffies = bpf_jiffies64();
	if (p) {
		flags |= SAMPLE_PACKET;
		s->tcp_flags = p->flags;
		s->sack_blocks = p->blocks;
		s->ack = p->ack;
		s->seq = p->seq;
		s->payload = p->payload;
		s->peer_window = p->window;
	} else {
		s->tcp_flags = 0;
		s->sack_blocks = 0;
		s->ack = 0;
		s->seq = 0;
		s->payload = 0;
		s->peer_window = 0;
	}
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		flags |= SAMPLE_CWND_LIMITED;
	if (BPF_CORE_READ_BITFIELD(tp, rate_app_limited))
		flags |= SAMPLE_APP_LIMITED;
	s->flags = flags;

	s->cwnd = tp->snd_cwnd;
	s->ssthresh = tp->snd_ssthresh;
	s->packets_out = tp->packets_out;
	s->lost_out = tp->lost_out;
	s->sacked_out = tp->sacked_out;
	s->retrans_out = tp->retrans_out;
	s->reordering = tp->reordering;
	s->mss = tp->mss_cache;
	s->srtt = tp->srtt_us;
	s->mdev = tp->mdev_us;
	s->rtt = tp->rack.rtt_us;
	s->min_rtt = tp->rtt_min.s[0].v;
	s->receiver_rtt = tp->rcv_rtt_est.rtt_us;
	s->rto = tp->inet_conn.icsk_rto;
	s->snd_wnd = tp->snd_wnd;
	s->rcv_wnd = tp->rcv_wnd;
	s->snd_una = tp->snd_una;
	s->snd_nxt = tp->snd_nxt;
	s->write_seq = tp->write_seq;
	s->rcv_nxt = tp->rcv_nxt;
	s->copied_seq = tp->copied_seq;
	s->bytes_acked = tp->bytes_acked;
	s->bytes_received = tp->bytes_received;
	s->delivered = tp->delivered;
	s->delivered_ce = tp->delivered_ce;
	s->lost = tp->lost;
	s->total_retrans = tp->total_retrans;
	s->rate_delivered = tp->rate_delivered;
	s->rate_interval_us = tp->rate_interval_us;
	s->chrono_start = tp->chrono_start;
	s->chrono_stat[0] = tp->chrono_stat[0];
	s->chrono_stat[1] = tp->chrono_stat[1];
	s->chrono_stat[2] = tp->chrono_stat[2];
	/* Younger than the oldest supported kernel; user space knows from BTF which of them are absent. */
	s->bytes_retrans = bpf_core_field_exists(tp->bytes_retrans) ? tp->bytes_retrans : 0;
	s->out_of_order = bpf_core_field_exists(tp->rcv_ooopack) ? tp->rcv_ooopack : 0;
	s->dsack_dups = bpf_core_field_exists(tp->dsack_dups) ? tp->dsack_dups : 0;
	s->reord_seen = bpf_core_field_exists(tp->reord_seen) ? tp->reord_seen : 0;

	s->pacing_rate = sk->sk_pacing_rate;
	s->backlog = sk->sk_backlog.len;
	s->rmem_alloc = sk->sk_backlog.rmem_alloc.counter;
	s->sndbuf = sk->sk_sndbuf;
	s->rcvbuf = sk->sk_rcvbuf;
	s->wmem_queued = sk->sk_wmem_queued;
	s->wmem_alloc = sk->sk_wmem_alloc.refs.counter;
	s->forward_alloc = sk->sk_forward_alloc;
	for (u32 i = 0; i < CC_WORDS && i < cc_words_most; i++) {
		if (i >= fs->cc_words)
			break;
		s->cc[i] = tp->inet_conn.icsk_ca_priv[i];
	}
	submit();
	fs->last_sample_ns = now;
}

/* The open event and a first sample of a flow that was open already when it could first be observed. */
static __noinline int open_late(struct flow_state *fs, struct tcp_sock *tp)
{
	u8 state;

	if (!fs || !tp)
		return 0;
	state = COMMON(tp).skc_state;
	if (state == TCP_SYN_SENT || state == TCP_SYN_RECV)
		return 0;
	fs->opened = 1;
	event_change(fs, tp, EVENT_OPEN, CHANGE(state, state), BY_DIFFERENCE);
	sample(fs, &SK(tp), tp, NULL, state, bpf_ktime_get_ns());
	return 0;
}

/* flow_of, for hooks that are not the opening itself. */
static __always_inline struct flow_state *observe(u64 key, struct tcp_sock *tp, bool by_process)
{
	struct flow_state *fs = flow_of(key, tp, true, by_process);

	if (fs && !fs->opened)
		open_late(fs, tp);
	return fs;
}

/* tcp_probe fires at the top of tcp_rcv_established: the socket is still as the segment before this one left it. */
static __always_inline void on_segment(u64 key, const struct sock *sk, struct tcp_sock *tp, const u8 *header, u32 len,
				       bool typed)
{
	struct flow_state *fs = observe(key, tp, false);
	struct packet p = {};
	u64 now;

	if (!fs || !parse(&p, tp, header, len, typed))
		return;
	socket_differences(fs, tp);
	segment_events(fs, tp, &p);
	now = bpf_ktime_get_ns();
	if (!dense_enough(fs, tp, now)) {
		count(COUNTER_SUPPRESSED);
		return;
	}
	sample(fs, sk, tp, &p, sk->__sk_common.skc_state, now);
}

/*
 * The state is also set where there is no connection: when a child of a listener is made, before it has its addresses
 * (tcp_ca_openreq_child), and after a disconnect (tcp_disconnect).
 */
static __always_inline void on_ca_state(u64 key, struct tcp_sock *tp, u8 ca_state)
{
	u8 state = COMMON(tp).skc_state;
	struct flow_state *fs;

	if (state == TCP_SYN_RECV || state == TCP_NEW_SYN_RECV || state == TCP_CLOSE || state == TCP_LISTEN)
		return;
	fs = observe(key, tp, false);
	if (fs)
		ca_state_changes(fs, tp, ca_state_of(tp), ca_state, AT_ONCE);
}

/* Which timer, if any, is behind a retransmission: tcp_write_timer_handler in net/ipv4/tcp_timer.c. */
static __always_inline u8 cause_of(struct flow_state *fs, struct tcp_sock *tp)
{
	u8 pending = tp->inet_conn.icsk_pending, ca_state = ca_state_of(tp);
	u8 state = COMMON(tp).skc_state;

	if (state == TCP_SYN_SENT || state == TCP_SYN_RECV)
		return CAUSE_SYN;
	switch (ca_state) {
	case TCP_CA_Loss:
		if (in_retransmit_timer(tp))
			return CAUSE_RTO;
		return fs->loss_by_mtu ? CAUSE_OTHER : CAUSE_RTO_RECOVERY;
	case TCP_CA_Recovery:
		if (pending == ICSK_TIME_REO_TIMEOUT) {
			u64 expires;

			/* An ACK may also find the timer pending; only a timer that has run out is the cause. */
			if (bpf_core_field_exists(tp->inet_conn.icsk_timeout))
				expires = tp->inet_conn.icsk_timeout;
			else if (bpf_core_field_exists(tp->inet_conn.icsk_retransmit_timer))
				expires = tp->inet_conn.icsk_retransmit_timer.expires;
			else
				expires = SK(tp).tcp_retransmit_timer.expires;
			if ((s32)((u32)bpf_jiffies64() - (u32)expires) >= 0)
				return CAUSE_REORDERING;
		}
		return CAUSE_FAST;
	}
	return pending == ICSK_TIME_LOSS_PROBE ? CAUSE_TLP : CAUSE_OTHER;
}

/*
 * From 6.17 on the tracepoint also fires when nothing was sent, because the segment is still in the own device's queue
 * or has no route (__tcp_retransmit_skb); then total_retrans has not grown. A positive result is a segment that the
 * device refused: it counts, as the kernel counts it.
 */
static __always_inline void on_retransmit(u64 key, struct tcp_sock *tp, const struct sk_buff *skb, int result)
{
	struct flow_state *fs = observe(key, tp, false);
	const struct tcp_skb_cb *cb;
	struct event_record *e;
	u8 cause;

	if (!fs)
		return;
	cause = cause_of(fs, tp);
	if (!has_cong_state_set) {
		u8 state = ca_state_of(tp);

		if (cause == CAUSE_RTO)
			unseen_timeouts(fs, tp);
		if (state != fs->ca_state || cause == CAUSE_RTO)
			ca_state_changes(fs, tp, fs->ca_state, state, AT_ONCE);
	}
	if (result < 0 && tp->total_retrans == fs->retransmits)
		return;
	fs->retransmits = tp->total_retrans;
	e = event_start(fs, tp, EVENT_RETRANSMIT);
	if (!e)
		return;
	cb = (const struct tcp_skb_cb *)&skb->cb;
	chase(e->seq, cb->seq);
	chase(e->end_seq, cb->end_seq);
	e->cause = cause;
	e->value = result;
	submit();
}

/* Why a connection ends, as far as its last states and its error tell. */
static __always_inline u8 reason_of(struct flow_state *fs, struct tcp_sock *tp, int old)
{
	int err = SK(tp).sk_err;

	/* An ICMP error that came while connect() held the socket. */
	if (!err && old == TCP_SYN_SENT)
		err = SK(tp).sk_err_soft;
	switch (err) {
	case ECONNREFUSED:
		return REASON_REFUSED;
	case ETIMEDOUT:
		return REASON_TIMED_OUT;
	case EHOSTUNREACH:
	case ENETUNREACH:
		return REASON_UNREACHABLE;
	case ECONNABORTED: /* tcp_abort, on behalf of ss --kill */
		return REASON_ABORTED;
	}
	if (fs->reason)
		return fs->reason;
	switch (err) {
	case ECONNRESET:
	case EPIPE:
		return REASON_RESET_RECEIVED;
	}
	if (old == TCP_SYN_SENT || old == TCP_SYN_RECV)
		return REASON_ABORTED;
	/* tcp_close with unread data or without lingering leaves at once and sends the reset afterwards. */
	if (old == TCP_ESTABLISHED)
		return REASON_RESET_SENT;
	return REASON_UNKNOWN;
}

/* The socket's memory may become another socket. */
static __always_inline void on_destroy(u64 key)
{
	bpf_map_delete_elem(&flows, &key);
	bpf_map_delete_elem(&unfollowed, &key);
}

static __always_inline void on_state(u64 key, struct tcp_sock *tp, int old, int now)
{
	struct flow_state *fs;

	if (now == TCP_SYN_SENT) {
		/*
		 * connect() sets the state before it has a local port, so all else waits for the next hook. The same
		 * socket may try again after a failure; it is another connection then.
		 */
		on_destroy(key);
		new_flow(key, tp, false, true);
		return;
	}
	/* Sockets that listen, children without addresses, and sockets without a connection being closed. */
	if (now == TCP_LISTEN || old == TCP_LISTEN || now == TCP_SYN_RECV || old == TCP_CLOSE)
		return;
	if (now == TCP_ESTABLISHED) {
		fs = flow_of(key, tp, false, false);
		if (fs) {
			fs->opened = 1;
			event_change(fs, tp, EVENT_OPEN, CHANGE(old, now), AT_ONCE);
			sample(fs, &SK(tp), tp, NULL, now, bpf_ktime_get_ns());
		}
		return;
	}
	if (now == TCP_CLOSE && old == TCP_SYN_RECV)
		goto gone; /* the handshake was not completed */
	fs = observe(key, tp, false);
	if (!fs)
		goto gone;
	socket_differences(fs, tp);
	event_change(fs, tp, EVENT_STATE, CHANGE(old, now), AT_ONCE);
	if (now == TCP_FIN_WAIT1 && !fs->reason)
		fs->reason = REASON_LOCAL_FIN;
	if (now == TCP_CLOSE_WAIT && !fs->reason)
		fs->reason = REASON_REMOTE_FIN;
	sample(fs, &SK(tp), tp, NULL, now, bpf_ktime_get_ns());
	if (now == TCP_CLOSE) {
		struct event_record *e = event_start(fs, tp, EVENT_CLOSE);

		if (e) {
			e->from = old;
			e->to = now;
			e->reason = reason_of(fs, tp, old);
			submit();
		}
	}
gone:
	if (now == TCP_CLOSE)
		forget_flow(key, tp);
}

static __always_inline void on_reset(u64 key, u8 reason)
{
	struct flow_state *fs = bpf_map_lookup_elem(&flows, &key);

	if (fs)
		fs->reason = reason;
}

/*
 * tcp_rcv_space_adjust runs in recvmsg: the current process is the one that reads. Only of use while a flow has no
 * owner, which is asked first since the hook is as frequent as reads are.
 */
static __always_inline bool wants_owner(u64 key)
{
	struct flow_state *fs = bpf_map_lookup_elem(&flows, &key);

	return fs && !fs->pid;
}

/* --- tp_btf ------------------------------------------------------------------------------------------------- */

SEC("tp_btf/tcp_probe")
int BPF_PROG(btf_tcp_probe, struct sock *sk, const struct sk_buff *skb)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	if (tp) {
		enter();
		on_segment((u64)sk, sk, tp, skb->head + skb->transport_header, skb->len, true);
		leave();
	}
	return 0;
}

SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(btf_tcp_cong_state_set, struct sock *sk, const u8 ca_state)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	if (tp) {
		enter();
		on_ca_state((u64)sk, tp, ca_state);
		leave();
	}
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(btf_tcp_retransmit_skb, const struct sock *sk, const struct sk_buff *skb)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock((void *)sk);

	if (tp) {
		enter();
		on_retransmit((u64)sk, tp, skb, retransmit_has_result ? (int)ctx[2] : 0);
		leave();
	}
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(btf_inet_sock_set_state, const struct sock *sk, const int oldstate, const int newstate)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock((void *)sk);

	if (tp) {
		enter();
		on_state((u64)sk, tp, oldstate, newstate);
		leave();
	}
	return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(btf_tcp_destroy_sock, struct sock *sk)
{
	on_destroy((u64)sk);
	return 0;
}

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(btf_tcp_receive_reset, struct sock *sk)
{
	on_reset((u64)sk, REASON_RESET_RECEIVED);
	return 0;
}

SEC("tp_btf/tcp_send_reset")
int BPF_PROG(btf_tcp_send_reset, const struct sock *sk)
{
	on_reset((u64)sk, REASON_RESET_SENT);
	return 0;
}

SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(btf_tcp_rcv_space_adjust, struct sock *sk)
{
	struct tcp_sock *tp;

	if (!wants_owner((u64)sk))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (tp) {
		enter();
		observe((u64)sk, tp, true);
		leave();
	}
	return 0;
}

/*
 * Walks the sockets of one network namespace (of the process that opens the iterator), so that connections which are
 * idle are known from the start. A socket that a hook sees at the same time is announced once: the table decides.
 */
SEC("iter/tcp")
int walk_sockets(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp;
	u8 state;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	state = COMMON(tp).skc_state;
	if (state == TCP_LISTEN || state == TCP_CLOSE || state == TCP_TIME_WAIT || state == TCP_SYN_RECV)
		return 0;
	enter();
	observe((u64)skc, tp, false);
	leave();
	return 0;
}

/* --- raw_tp ------------------------------------------------------------------------------------------------- */

#define SCRATCH_BYTES 4096

struct scratch {
	u8 bytes[SCRATCH_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RING_LEVELS);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* A copy of the tcp_sock; NULL when it is no TCP socket. Each success is followed by leave(). */
static __always_inline struct tcp_sock *enter_with_copy(const struct sock *sk)
{
	struct scratch *scratch;
	u16 protocol = 0;
	u32 level;

	if (!sk)
		return NULL;
	chase(protocol, sk->sk_protocol);
	if ((protocol & 0xff) != IPPROTO_TCP)
		return NULL;
	level = enter();
	scratch = bpf_map_lookup_elem(&scratches, &level);
	if (scratch && !bpf_probe_read_kernel(scratch->bytes, bpf_core_type_size(struct tcp_sock), sk))
		return (struct tcp_sock *)scratch->bytes;
	leave();
	return NULL;
}

SEC("raw_tp/tcp_probe")
int raw_tcp_probe(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct sk_buff *skb = (struct sk_buff *)ctx->args[1];
	struct tcp_sock *tp = enter_with_copy(sk);
	unsigned char *head = NULL;
	u16 offset = 0;
	u32 len = 0;

	if (!tp)
		return 0;
	chase(head, skb->head);
	chase(offset, skb->transport_header);
	chase(len, skb->len);
	on_segment((u64)sk, &SK(tp), tp, head + offset, len, false);
	leave();
	return 0;
}

SEC("raw_tp/tcp_cong_state_set")
int raw_tcp_cong_state_set(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct tcp_sock *tp = enter_with_copy(sk);

	if (!tp)
		return 0;
	on_ca_state((u64)sk, tp, ctx->args[1]);
	leave();
	return 0;
}

SEC("raw_tp/tcp_retransmit_skb")
int raw_tcp_retransmit_skb(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct tcp_sock *tp = enter_with_copy(sk);

	if (!tp)
		return 0;
	on_retransmit((u64)sk, tp, (const struct sk_buff *)ctx->args[1], retransmit_has_result ? (int)ctx->args[2] : 0);
	leave();
	return 0;
}

SEC("raw_tp/inet_sock_set_state")
int raw_inet_sock_set_state(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct tcp_sock *tp = enter_with_copy(sk);

	if (!tp)
		return 0;
	on_state((u64)sk, tp, ctx->args[1], ctx->args[2]);
	leave();
	return 0;
}

SEC("raw_tp/tcp_destroy_sock")
int raw_tcp_destroy_sock(struct bpf_raw_tracepoint_args *ctx)
{
	on_destroy(ctx->args[0]);
	return 0;
}

SEC("raw_tp/tcp_receive_reset")
int raw_tcp_receive_reset(struct bpf_raw_tracepoint_args *ctx)
{
	on_reset(ctx->args[0], REASON_RESET_RECEIVED);
	return 0;
}

SEC("raw_tp/tcp_send_reset")
int raw_tcp_send_reset(struct bpf_raw_tracepoint_args *ctx)
{
	on_reset(ctx->args[0], REASON_RESET_SENT);
	return 0;
}

SEC("raw_tp/tcp_rcv_space_adjust")
int raw_tcp_rcv_space_adjust(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct tcp_sock *tp;

	if (!wants_owner((u64)sk))
		return 0;
	tp = enter_with_copy(sk);
	if (!tp)
		return 0;
	observe((u64)sk, tp, true);
	leave();
	return 0;
}

/* Ticks of the kernel's timer, low 32 bits: run twice by user space to learn HZ. */
SEC("raw_tp/tcp_probe")
int jiffies_now(void *ctx)
{
	return (int)bpf_jiffies64();
}

/* Keeps the types in the BTF, from which the Go types and constants are generated. */
const struct sample_record *unused_sample_record __attribute__((unused));
const enum ring_limits *unused_ring_limits __attribute__((unused));
const struct ring_control *unused_ring_control __attribute__((unused));
const struct flow_record *unused_flow_record __attribute__((unused));
const struct event_record *unused_event_record __attribute__((unused));
const enum record_kind *unused_record_kind __attribute__((unused));
const enum sample_flags *unused_sample_flags __attribute__((unused));
const enum flow_flags *unused_flow_flags __attribute__((unused));
const enum event_kind *unused_event_kind __attribute__((unused));
const enum cause *unused_cause __attribute__((unused));
const enum reason *unused_reason __attribute__((unused));
const enum counter *unused_counter __attribute__((unused));
