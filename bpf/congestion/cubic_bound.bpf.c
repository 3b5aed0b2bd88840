// SPDX-License-Identifier: GPL-2.0
/* CUBIC whose window stays between a lower and an upper bound.
 *
 * While the upper bound holds the window, CUBIC stands still: no epoch runs, slow start is not
 * ended by HyStart, and ssthresh stays what it was. When the bound is lifted the flow
 * slow-starts to its ssthresh and goes on from there with its old maximum. A loss at the bound
 * counts as any other.
 *
 * The lower bound holds from the first ACK on, also after a timeout, whose one packet it does
 * not touch. In fast recovery the kernel itself sets the window (proportional rate reduction),
 * towards an ssthresh that respects the bound. */
#define CC_KIND CC_KIND_CUBIC_BOUND
#include "cubic_hooks.h"
#include "bounds.h"

struct bound {
	struct cc_cubic cubic;
	struct cc_bounded held;
};

_Static_assert(sizeof(struct bound) <= 13 * sizeof(u64), "the private state does not fit into icsk_ca_priv");

/* Brings the window between the bounds, upwards only if it may. Is the upper one what holds it? */
CC_INLINE int bound_apply(struct sock *sk, struct bound *ca, int may_raise)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 window;

	bounds_refresh(sk, &ca->held);
	window = bounds_clamp(&ca->held.bounds, tp->snd_cwnd);
	if (window < tp->snd_cwnd || (may_raise && window > tp->snd_cwnd)) {
		tp->snd_cwnd = window;
		tp->snd_cwnd_cnt = 0;
		ca->cubic.epoch_start = 0;
	}
	return ca->held.bounds.upper && window >= ca->held.bounds.upper;
}

SEC("struct_ops")
void BPF_PROG(cc_init, struct sock *sk)
{
	struct bound *ca = inet_csk_ca(sk);

	cubic_init(sk, &ca->cubic);
	ca->held.generation = ~0ULL;
	ca->held.bounds.lower = ca->held.bounds.upper = 0;
}

SEC("struct_ops")
void BPF_PROG(cc_release, struct sock *sk)
{
	struct bound *ca = inet_csk_ca(sk);

	bounds_forget(sk);
	cubic_release(&ca->cubic);
}

/* After a pause, and when the first packet is retransmitted after a timeout: this one does not
 * become more. */
CC_INLINE void bound_tx_start(struct sock *sk)
{
	struct bound *ca = inet_csk_ca(sk);

	cubic_tx_start(sk, &ca->cubic);
	bound_apply(sk, ca, 0);
}

SEC("struct_ops")
void BPF_PROG(cc_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		bound_tx_start(sk);
}

SEC("struct_ops")
void BPF_PROG(cc_tx_start, struct sock *sk)
{
	bound_tx_start(sk);
}

SEC("struct_ops")
void BPF_PROG(cc_set_state, struct sock *sk, u8 new_state)
{
	struct bound *ca = inet_csk_ca(sk);

	cubic_state(sk, &ca->cubic, new_state);
}

SEC("struct_ops")
void BPF_PROG(cc_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct bound *ca = inet_csk_ca(sk);
	u32 upper = ca->held.bounds.upper;

	cubic_acked(sk, &ca->cubic, sample, !upper || tcp_sk(sk)->snd_cwnd < upper);
}

SEC("struct_ops")
void BPF_PROG(cc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct bound *ca = inet_csk_ca(sk);

	if (bound_apply(sk, ca, 1)) {
		ca->cubic.epoch_start = 0;
		/* Where slow start shall end is known from a loss: HyStart need not look for it when the
		 * bound is lifted. */
		if (tcp_sk(sk)->snd_ssthresh < TCP_INFINITE_SSTHRESH)
			ca->cubic.found = 1;
		return;
	}
	cubic_cong_avoid(sk, &ca->cubic, acked);
	bound_apply(sk, ca, 1);
}

SEC("struct_ops")
u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	struct bound *ca = inet_csk_ca(sk);
	u32 ssthresh = cubic_ssthresh(sk, &ca->cubic);

	bounds_refresh(sk, &ca->held);
	return ssthresh < ca->held.bounds.lower ? ca->held.bounds.lower : ssthresh;
}

SEC("struct_ops")
u32 BPF_PROG(cc_undo_cwnd, struct sock *sk)
{
	struct bound *ca = inet_csk_ca(sk);

	return bounds_clamp(&ca->held.bounds, tcp_reno_undo_cwnd(sk));
}

SEC(".struct_ops.link")
struct tcp_congestion_ops congestion_ops = {
	CC_HOOKS,
	.cwnd_event_tx_start = (void *)cc_tx_start,
	.name = "cubic_bound",
	.release = (void *)cc_release,
};
