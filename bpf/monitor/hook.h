/* SPDX-License-Identifier: GPL-2.0 */
/* The work of each hook, shared by both kinds of programs. */
#ifndef AIRTIDE_HOOK_H
#define AIRTIDE_HOOK_H

#include "handshake.h"
#include "sample.h"

/* flow_of, for hooks that are not the opening itself. */
static __always_inline struct flow_state *observe(u64 key, struct tcp_sock *tp, bool by_process)
{
	struct flow_state *fs = flow_of(key, tp, true, by_process);

	if (fs && !fs->opened)
		open_late(fs, tp);
	return fs;
}

/* tcp_probe fires at the top of tcp_rcv_established: the socket is still as the segment before
 * this one left it. */
static __always_inline void on_segment(u64 key, const struct sock *sk, struct tcp_sock *tp, const struct arrival *a)
{
	struct flow_state *fs = observe(key, tp, false);
	struct packet p = {};
	u64 now;

	if (!fs || !parse(&p, tp, a))
		return;
	socket_differences(fs, tp);
	segment_events(fs, tp, &p);
	now = bpf_ktime_get_ns();
	if (!dense_enough(fs, tp, now))
		return;
	sample(fs, sk, tp, &p, sk->__sk_common.skc_state, now);
}

/* The state is also set where there is no connection: when a child of a listener is made, before
 * it has its addresses (tcp_ca_openreq_child), and after a disconnect (tcp_disconnect). */
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

/* Which timer, if any, is behind a retransmission: tcp_write_timer_handler in
 * net/ipv4/tcp_timer.c. */
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

			/* An ACK may also find the timer pending; only a timer that has run out is the
			 * cause. */
			if (bpf_core_field_exists(tp->inet_conn.icsk_timeout))
				expires = tp->inet_conn.icsk_timeout;
			else if (bpf_core_field_exists(tp->inet_conn.icsk_retransmit_timer))
				expires = tp->inet_conn.icsk_retransmit_timer.expires;
			else
				expires = SK(tp).tcp_retransmit_timer.expires;
			if ((s32)((u32)bpf_jiffies64() - (u32)expires) >= 0)
				return CAUSE_RACK_TIMER;
		}
		return CAUSE_FAST;
	}
	return pending == ICSK_TIME_LOSS_PROBE ? CAUSE_TLP : CAUSE_OTHER;
}

/* From 6.17 on the tracepoint also fires when nothing was sent, because the segment is still in
 * the own device's queue or has no route (__tcp_retransmit_skb); then total_retrans has not
 * grown. A positive result is a segment that the device refused: it counts, as the kernel counts
 * it. */
static __always_inline void on_retransmit(u64 key, struct tcp_sock *tp, const struct sk_buff *skb, int result)
{
	struct flow_state *fs = observe(key, tp, false);
	const struct tcp_skb_cb *cb;
	struct ring_control *ring;
	struct event_record *e;
	u32 mss;
	u8 cause;

	if (!fs)
		return;
	cause = cause_of(fs, tp);
	if (!mon_has_cong_state_set) {
		u8 state = ca_state_of(tp);

		if (cause == CAUSE_RTO)
			unseen_timeouts(fs, tp);
		if (state != fs->ca_state || cause == CAUSE_RTO) {
			ca_state_changes(fs, tp, fs->ca_state, state, AT_ONCE);
			cause = cause_of(fs, tp); /* the change may say what brought Loss about */
		}
	}
	if (result < 0 && tp->total_retrans == fs->retransmits)
		return;
	fs->retransmits = tp->total_retrans;
	e = event_start(fs, tp, EVENT_RETRANSMIT, &ring);
	if (!e)
		return;
	cb = (const struct tcp_skb_cb *)&skb->cb;
	read_field(e->seq, cb->seq);
	read_field(e->end_seq, cb->end_seq);
	e->cause = cause;
	e->reason = result > 0 ? REASON_DEVICE_REFUSED : REASON_NONE;
	mss = tp->mss_cache;
	e->value = mss ? (e->end_seq - e->seq + mss - 1) / mss : 1;
	submit(ring);
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
	/* tcp_close with unread data or without lingering leaves at once and sends the reset
	 * afterwards. */
	if (old == TCP_ESTABLISHED)
		return REASON_RESET_SENT;
	return REASON_UNKNOWN;
}

/* Reports whether the state changes in close() or shutdown(), so that the current process is the
 * owner (tcp_close_state and __tcp_close in net/ipv4/tcp.c). A reset that arrives sets sk_shutdown
 * only after the state (tcp_done). */
static __always_inline bool closed_by_process(struct tcp_sock *tp, int old, int now)
{
	switch (now) {
	case TCP_FIN_WAIT1:
	case TCP_LAST_ACK:
		return true;
	case TCP_CLOSE:
		return (old == TCP_ESTABLISHED || old == TCP_CLOSE_WAIT) && SK(tp).sk_shutdown == SHUTDOWN_MASK;
	}
	return false;
}

/* Reports whether the flow of a socket stays in the table beyond the end of its connection: its
 * owner is unknown, and will be known when a process closes the socket. */
static __always_inline bool outlives_connection(const struct flow_state *fs, struct tcp_sock *tp)
{
	return fs->verdict == VERDICT_UNDECIDED && SK(tp).sk_socket;
}

/* A process closes a socket whose connection was over. */
static __always_inline void on_late_close(u64 key, struct tcp_sock *tp)
{
	struct flow_state *fs;

	observe(key, tp, true);
	fs = bpf_map_lookup_elem(&flows, &key);
	if (fs)
		end_flow(key, fs, tp);
}

/* Reports whether on_late_close() is to be called when the socket is destroyed. */
static __always_inline bool closes_late(u64 key)
{
	struct flow_state *fs = bpf_map_lookup_elem(&flows, &key);

	return fs && fs->verdict == VERDICT_UNDECIDED;
}

static __always_inline void on_state(u64 key, struct tcp_sock *tp, int old, int now)
{
	struct flow_state *fs;

	if (now == TCP_SYN_SENT) {
		/* connect() sets the state before it has a local port, so all else waits for the next
		 * hook. The same socket may try again after a failure; it is another connection then. */
		fs = bpf_map_lookup_elem(&flows, &key);
		if (fs)
			end_flow(key, fs, tp);
		else
			delete_flow(key);
		fs = new_flow(key, tp, false);
		if (fs)
			own_by_current(fs);
		return;
	}
	/* Sockets that listen, children without addresses, and sockets without a connection being
	 * closed. */
	if (now == TCP_LISTEN || old == TCP_LISTEN || now == TCP_SYN_RECV || old == TCP_CLOSE)
		return;
	if (now == TCP_ESTABLISHED) {
		fs = flow_of(key, tp, false, false);
		if (fs) {
			fs->opened = 1;
			event_change(fs, tp, EVENT_OPEN, CHANGE(old, now), AT_ONCE);
			if (mon_with & WITH_HANDSHAKE)
				handshake_done(fs, tp, old);
			sample(fs, &SK(tp), tp, NULL, now, bpf_ktime_get_ns());
		}
		return;
	}
	if (now == TCP_CLOSE && old == TCP_SYN_RECV)
		goto gone; /* the handshake was not completed */
	fs = observe(key, tp, closed_by_process(tp, old, now));
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
		struct ring_control *ring;
		struct event_record *e = event_start(fs, tp, EVENT_CLOSE, &ring);

		if (e) {
			e->from = old;
			e->to = now;
			e->reason = reason_of(fs, tp, old);
			submit(ring);
		}
	}
gone:
	if (now != TCP_CLOSE)
		return;
	fs = bpf_map_lookup_elem(&flows, &key);
	if (!fs)
		delete_flow(key);
	else if (!outlives_connection(fs, tp))
		end_flow(key, fs, tp);
}

static __always_inline void on_reset(u64 key, u8 reason)
{
	struct flow_state *fs = bpf_map_lookup_elem(&flows, &key);

	if (fs)
		fs->reason = reason;
}

/* tcp_rcv_space_adjust runs in recvmsg: the current process is the one that reads. This is needed
 * only until the flow has an owner. It is checked first, because the hook runs at every read. */
static __always_inline bool wants_owner(u64 key)
{
	struct flow_state *fs = bpf_map_lookup_elem(&flows, &key);

	return fs && !fs->pid;
}

#endif
