/* SPDX-License-Identifier: GPL-2.0 */
/* Events: how each is recognised stands in docs/reference/fields.md, with the kernel's file that
 * it comes from. */
#ifndef AIRTIDE_EVENT_H
#define AIRTIDE_EVENT_H

#include "flow.h"
#include "segment.h"

/* Whether the kernel has tcp_cong_state_set (5.19); without it states are compared at each ACK
 * and retransmission. */
volatile const bool mon_has_cong_state_set;

static __always_inline u8 ca_state_of(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_state);
}

/* tcp_packets_in_flight in include/net/tcp.h. A reset leaves all counts but the first. */
static __always_inline u32 in_flight(struct tcp_sock *tp)
{
	if (!tp->packets_out)
		return 0;
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* Error code of an event (Matsuno et al. 2021). */
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
static __always_inline struct event_record *event_start(struct flow_state *fs, struct tcp_sock *tp, u8 kind,
							struct ring_control **ring)
{
	struct event_record *e = reserve(ring);

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

/* How an event was found: by its own hook or segment, or by comparing the socket with its last
 * state. */
enum found {
	AT_ONCE,
	BY_DIFFERENCE,
};

/* An event whose only particular is a value. */
static __noinline int event_value(struct flow_state *fs, struct tcp_sock *tp, u8 kind, s64 value, u8 found)
{
	struct ring_control *ring;
	struct event_record *e;

	if (!fs || !tp)
		return 0;
	e = event_start(fs, tp, kind, &ring);
	if (!e)
		return 0;
	e->value = value;
	e->from_sample = found;
	submit(ring);
	return 0;
}

#define MAX_BACKOFF 16 /* TCP_RTO_MAX is reached long before */

#define CHANGE(from, to) ((u32)(from) | (u32)(to) << 8)

static __noinline int event_change(struct flow_state *fs, struct tcp_sock *tp, u8 kind, u32 change, u8 found)
{
	struct ring_control *ring;
	struct event_record *e;

	if (!fs || !tp)
		return 0;
	e = event_start(fs, tp, kind, &ring);
	if (!e)
		return 0;
	e->from = change;
	e->to = change >> 8;
	e->from_sample = found;
	submit(ring);
	return 0;
}

/* A reduction was undone when undo_marker, set on entering Recovery or Loss (tcp_init_undo), is
 * zero again (tcp_undo_cwnd_reduction in net/ipv4/tcp_input.c). tcp_enter_cwr and
 * tcp_simple_retransmit clear it without undoing anything; they clear prior_ssthresh as well,
 * which is also zero where congestion is proven and nothing is restored. The verdict came by
 * DSACK when every retransmission has been reported (undo_retrans is 0), else by timestamps or
 * F-RTO (tcp_may_undo). */
static __noinline int check_undo(struct flow_state *fs, struct tcp_sock *tp, u8 state, u8 found)
{
	u32 marker;

	if (!fs || !tp)
		return 0;
	marker = tp->undo_marker;
	if (fs->undo_marker && !marker && tp->prior_ssthresh && fs->marker_state >= TCP_CA_Recovery) {
		struct ring_control *ring;
		struct event_record *e = event_start(fs, tp, EVENT_UNDO, &ring);

		if (e) {
			e->from = fs->marker_state;
			e->to = state;
			e->reason = tp->undo_retrans == 0 ? REASON_UNDO_DSACK : REASON_UNDO_TIMESTAMP;
			e->from_sample = found;
			submit(ring);
		}
	}
	fs->undo_marker = marker;
	if (marker && state >= TCP_CA_Recovery)
		fs->marker_state = state;
	return 0;
}

/* Reports whether the tail-loss probe was a retransmission. Only then can its ACK show that it
 * repaired a loss. */
static __always_inline bool probe_was_retransmission(struct tcp_sock *tp)
{
	return !bpf_core_field_exists(tp->tlp_retrans) || BPF_CORE_READ_BITFIELD(tp, tlp_retrans);
}

/* Sends the event behind an entry into CWR (tcp_enter_cwr, tcp_process_tlp_ack): a repaired tail
 * loss, ECN, or the own device. */
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

/* The retransmission timer clears icsk_pending before it calls tcp_enter_loss
 * (tcp_write_timer_handler); the other way into Loss, a path MTU decrease
 * (tcp_simple_retransmit), leaves it set. */
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
		/* Of those who set CWR only a tail-loss probe's ACK does so in CWR too
		 * (tcp_process_tlp_ack). */
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
/* Code 3: an ACK that reports segments out of order. */
static __noinline int ack_events(struct flow_state *fs, struct tcp_sock *tp, struct packet *p)
{
	struct ring_control *ring;
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
	e = event_start(fs, tp, kind, &ring);
	if (!e)
		return 0;
	e->seq = p->ack;
	e->blocks = p->blocks;
	__builtin_memcpy(e->sack, p->sack, sizeof(e->sack));
	submit(ring);
	return 0;
}

/* Timeouts that no hook has shown: where the kernel lacks tcp_cong_state_set and nothing could
 * be sent, because the segment was still in the own device's queue. They backed off all the same
 * (tcp_retransmit_timer). */
static __noinline int unseen_timeouts(struct flow_state *fs, struct tcp_sock *tp)
{
	struct ring_control *ring;
	struct event_record *e;
	u32 backoff, before;

	if (!fs || !tp)
		return 0;
	backoff = tp->inet_conn.icsk_backoff;
	before = fs->timeouts;
	fs->timeouts = backoff;
	if (ca_state_of(tp) != TCP_CA_Loss || backoff <= before)
		return 0;
	/* One record for all: a loop over records takes the verifier as long as all the rest. */
	e = event_start(fs, tp, EVENT_TIMEOUT, &ring);
	if (!e)
		return 0;
	e->value = tp->inet_conn.icsk_rto;
	e->from_sample = BY_DIFFERENCE;
	e->blocks = backoff - before < MAX_BACKOFF ? backoff - before : MAX_BACKOFF;
	submit(ring);
	return 0;
}

/* A change of congestion control: its table of functions is another. */
static __noinline int cc_changed(struct flow_state *fs, struct tcp_sock *tp)
{
	const struct tcp_congestion_ops *ops;
	struct ring_control *ring;
	struct event_record *e;

	if (!fs || !tp)
		return 0;
	ops = tp->inet_conn.icsk_ca_ops;
	private_state_of(fs, tp);
	e = event_start(fs, tp, EVENT_CC_CHANGE, &ring);
	if (!e)
		return 0;
	e->from_sample = BY_DIFFERENCE;
	bpf_probe_read_kernel_str(e->text, sizeof(e->text), &ops->name);
	submit(ring);
	return 0;
}

/* A tail loss that the last ACK told of (tcp_process_tlp_ack): CWR is over by the end of that
 * ACK, so that only tcp_cong_state_set shows it. It clears tlp_high_seq, as do entering Recovery
 * or Loss, and a DSACK for the probe. */
static __noinline int unseen_tail_loss(struct flow_state *fs, struct tcp_sock *tp, u8 state)
{
	if (!fs || !tp || fs->dsack || state >= TCP_CA_CWR || !before(fs->tlp_high_seq, fs->last_ack) ||
	    !probe_was_retransmission(tp))
		return 0;
	if (fs->ca_state != TCP_CA_CWR) /* the device's refusal of an earlier probe may have set it */
		event_change(fs, tp, EVENT_CA_STATE, CHANGE(fs->ca_state, TCP_CA_CWR), BY_DIFFERENCE);
	event_value(fs, tp, EVENT_TLP_LOSS, 0, BY_DIFFERENCE);
	event_change(fs, tp, EVENT_CA_STATE, CHANGE(TCP_CA_CWR, state), BY_DIFFERENCE);
	fs->ca_state = state;
	return 0;
}

/* Events that are seen by comparing the socket with how the last ACK or change of state found
 * it. */
static __always_inline void socket_differences(struct flow_state *fs, struct tcp_sock *tp)
{
	u8 state = ca_state_of(tp), zero;

	if (fs->ca_ops != (u64)tp->inet_conn.icsk_ca_ops)
		cc_changed(fs, tp);
	if (tp->inet_conn.icsk_backoff != fs->timeouts)
		unseen_timeouts(fs, tp);
	if (!mon_has_cong_state_set && fs->tlp_high_seq && !tp->tlp_high_seq)
		unseen_tail_loss(fs, tp, state);
	if (!mon_has_cong_state_set && state != fs->ca_state)
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

/* Events in the arriving segment itself. */
static __always_inline void segment_events(struct flow_state *fs, struct tcp_sock *tp, struct packet *p)
{
	u8 zero, ece;

	if (p->blocks || (p->ack == tp->snd_una && !p->payload && tp->packets_out))
		ack_events(fs, tp, p);
	/* Where AccECN is in use the bit is a part of a count (tcp_ecn_rcv_ecn_echo looks at the
	 * mode as well). */
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
	fs->dsack = p->dsack;
	fs->tlp_high_seq = tp->tlp_high_seq;
	fs->delivered_ce = tp->delivered_ce;
}

#endif
