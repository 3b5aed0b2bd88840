/* SPDX-License-Identifier: GPL-2.0 */
/* Samples: the socket as it is, how often, and the first one of a flow that is already open. */
#ifndef AIRTIDE_SAMPLE_H
#define AIRTIDE_SAMPLE_H

#include "event.h"

enum density {
	DENSITY_EVERY,
	DENSITY_CHANGE,
	DENSITY_AT_MOST,
};

volatile const u32 mon_density;
volatile const u64 mon_density_ns;

static __always_inline bool dense_enough(struct flow_state *fs, struct tcp_sock *tp, u64 now)
{
	if (mon_density == DENSITY_AT_MOST) {
		if (now - fs->last_sample_ns < mon_density_ns)
			return false;
	} else if (mon_density == DENSITY_CHANGE) {
		u8 backoff = tp->inet_conn.icsk_backoff, state = ca_state_of(tp);
		u8 chrono = BPF_CORE_READ_BITFIELD(tp, chrono_type);

		/* The chronograph that runs tells the limit: the peer's window, the send buffer, or else
		 * none. */
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

/* The words behind the private state. */
static __always_inline void sample_more(struct sample_record *s, struct flow_state *fs, const struct sock *sk,
					struct packet *p)
{
	u32 at = mon_cc_words_most < CC_WORDS ? mon_cc_words_most : CC_WORDS;
	u64 word = fs->device_wait_ns << MORE_WAIT;
	struct socket *socket = sk->sk_socket;
	unsigned long flags = 0;

	s->cc[at] = 0;
	if (p && p->timestamps) {
		s->cc[at] = p->tsval | (u64)p->tsecr << 32;
		word |= MORE_TIMESTAMPS;
	}
	if (mon_with & WITH_WAITS) {
		if (socket)
			load_field(flags, struct socket, socket, flags);
		if (flags & 1 << SOCK_NOSPACE)
			word |= MORE_BLOCKED;
		if (sk->sk_tsq_flags & TSQ_THROTTLED)
			word |= MORE_THROTTLED;
		fs->device_wait_ns = 0;
	}
	if ((mon_with & WITH_MERGES) && p)
		word |= (u64)p->segments << MORE_SEGMENTS;
	s->cc[at + 1] = word;
}

/* sk is the same socket as tp. In a tp_btf program the verifier trusts it, and reads of it need
 * no check. With a packet, socket_differences() and segment_events() have just copied some
 * fields into the flow, where they are cheaper to read. */
static __always_inline void sample(struct flow_state *fs, const struct sock *sk, struct tcp_sock *tp, struct packet *p,
				   u8 state, u64 now)
{
	struct ring_control *ring;
	struct sample_record *s = reserve(&ring);
	const struct net *net = sk->__sk_common.skc_net.net;
	u8 flags = SAMPLE_CC, locks;
	int send_most = 0;
	u32 widest;

	if (!s)
		return;
	s->kind = RECORD_SAMPLE;
	s->ca_state = p ? fs->ca_state : ca_state_of(tp);
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
	locks = BPF_CORE_READ_BITFIELD(sk, sk_userlocks);
	load_field(send_most, struct net, net, ipv4.sysctl_tcp_wmem[2]);
	if (locks & SOCK_SNDBUF_LOCK || sk->sk_sndbuf >= send_most)
		flags |= SAMPLE_SEND_BUFFER_FIXED;
	if (locks & SOCK_RCVBUF_LOCK)
		flags |= SAMPLE_RECEIVE_BUFFER_FIXED;
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
	/* tcp_select_window() advertises no more than the scale of the handshake allows. */
	widest = 65535U << BPF_CORE_READ_BITFIELD(tp, rx_opt.rcv_wscale);
	s->rcv_wnd = tp->rcv_wnd < widest ? tp->rcv_wnd : widest;
	s->snd_una = tp->snd_una;
	s->snd_nxt = tp->snd_nxt;
	s->write_seq = tp->write_seq;
	s->rcv_nxt = tp->rcv_nxt;
	s->copied_seq = tp->copied_seq;
	s->bytes_acked = tp->bytes_acked;
	s->bytes_received = tp->bytes_received;
	s->delivered = tp->delivered;
	s->delivered_ce = p ? fs->delivered_ce : tp->delivered_ce;
	s->lost = tp->lost;
	s->total_retrans = tp->total_retrans;
	s->rate_delivered = tp->rate_delivered;
	s->rate_interval_us = tp->rate_interval_us;
	s->chrono_start = tp->chrono_start;
	s->chrono_stat[0] = tp->chrono_stat[0];
	s->chrono_stat[1] = tp->chrono_stat[1];
	s->chrono_stat[2] = tp->chrono_stat[2];
	/* Younger than the oldest supported kernel; user space knows from BTF which of them are
	 * absent. */
	s->bytes_retrans = bpf_core_field_exists(tp->bytes_retrans) ? tp->bytes_retrans : 0;
	s->out_of_order = bpf_core_field_exists(tp->rcv_ooopack) ? tp->rcv_ooopack : 0;
	s->dsack_dups = bpf_core_field_exists(tp->dsack_dups) ? tp->dsack_dups : 0;
	if (p)
		s->reord_seen = fs->reord_seen;
	else
		s->reord_seen = bpf_core_field_exists(tp->reord_seen) ? tp->reord_seen : 0;

	s->pacing_rate = sk->sk_pacing_rate;
	s->backlog = sk->sk_backlog.len;
	s->rmem_alloc = sk->sk_backlog.rmem_alloc.counter;
	s->sndbuf = sk->sk_sndbuf;
	s->rcvbuf = sk->sk_rcvbuf;
	s->wmem_queued = sk->sk_wmem_queued;
	s->wmem_alloc = sk->sk_wmem_alloc.refs.counter;
	s->forward_alloc = sk->sk_forward_alloc;
	for (u32 i = 0; i < CC_WORDS && i < mon_cc_words_most; i++) {
		if (i >= fs->cc_words)
			break;
		s->cc[i] = tp->inet_conn.icsk_ca_priv[i];
	}
	if (mon_with & (WITH_TIMESTAMPS | WITH_WAITS | WITH_MERGES))
		sample_more(s, fs, sk, p);
	submit(ring);
	fs->last_sample_ns = now;
}

/* The open event and a first sample of a flow that was open already when it could first be
 * observed. */
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

#endif
