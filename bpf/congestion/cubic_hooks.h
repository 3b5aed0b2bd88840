/* SPDX-License-Identifier: GPL-2.0 */
/* The hooks that the CUBICs share, as net/ipv4/tcp_cubic.c has them. A program defines CC_KIND
 * before it includes this file, and calls the functions in its own hooks. */
#ifndef AIRTIDE_CC_CUBIC_HOOKS_H
#define AIRTIDE_CC_CUBIC_HOOKS_H

#include "cubic.h"
#include "hystart.h"
#include "parameters.h"

char LICENSE[] SEC("license") = "GPL";

_Static_assert(sizeof(struct cc_cubic) <= 13 * sizeof(u64), "the private state does not fit into icsk_ca_priv");

const volatile struct cc_parameters parameters SEC(".rodata.airtide") = {
	.magic = CC_MAGIC,
	.kind = CC_KIND,
	.hz = 1000,
	.rtt_ref_us = 100000,
	.beta = 717,
	.hystart = 1,
	.time_num = 1,
	.time_den = 1,
};

/* Converts microseconds of the kernel's clock to real time. Ticks need no conversion:
 * parameters.hz is of real time. */
CC_INLINE u64 cubic_real_us(u64 us)
{
	if (parameters.time_num == parameters.time_den)
		return us;
	return us * parameters.time_den / parameters.time_num;
}

CC_INLINE void cubic_hystart_reset(struct tcp_sock *tp, struct cc_cubic *ca)
{
	hystart_reset(tp, ca, cubic_real_us(tp->tcp_mstamp));
}

CC_INLINE enum cc_form cubic_form(void)
{
	switch (parameters.kind) {
	case CC_KIND_CUBIC_RTT:
		return CC_FORM_C;
	case CC_KIND_CUBIC_RTTK:
		return CC_FORM_K;
	default:
		return CC_FORM_PLAIN;
	}
}

CC_INLINE struct cc_law cubic_law(void)
{
	struct cc_law law = {
		.form = cubic_form(),
		.hz = parameters.hz,
		.beta = parameters.beta,
		.rtt_ref_us = parameters.rtt_ref_us,
	};

	return law;
}

CC_INLINE void cubic_init(struct sock *sk, struct cc_cubic *ca)
{
	cc_begin_use();
	/* With a long round trip a window is a long burst, which overruns a queue unless it is
	 * paced. */
	if (cubic_form() == CC_FORM_C && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	cc_cubic_reset(ca);
	ca->in_use = 1;
	ca->rtt_round = tcp_sk(sk)->snd_nxt;
	if (parameters.hystart)
		cubic_hystart_reset(tcp_sk(sk), ca);
}

CC_INLINE void cubic_release(struct cc_cubic *ca)
{
	if (ca->in_use)
		cc_end_use();
	ca->in_use = 0;
}

/* Before the first packet after a pause. */
CC_INLINE void cubic_tx_start(struct sock *sk, struct cc_cubic *ca)
{
	cc_cubic_resume(ca, tcp_sk(sk)->lsndtime, jiffies32());
}

CC_INLINE void cubic_state(struct sock *sk, struct cc_cubic *ca, u8 new_state)
{
	if (new_state != TCP_CA_Loss)
		return;
	cc_cubic_reset(ca);
	cubic_hystart_reset(tcp_sk(sk), ca);
}

CC_INLINE void cubic_acked(struct sock *sk, struct cc_cubic *ca, const struct ack_sample *sample,
			   int may_end_slow_start)
{
	struct tcp_sock *tp = tcp_sk(sk);
	s32 rtt = sample->rtt_us;
	u32 delay;

	if (rtt < 0)
		return; /* a duplicate without timestamp */
	/* Just after recovery delays mean nothing. */
	if (ca->epoch_start && (s32)(jiffies32() - ca->epoch_start) < (s32)parameters.hz)
		return;
	delay = cubic_real_us(rtt);
	if (!delay)
		delay = 1;
	if (!ca->delay_min || ca->delay_min > delay)
		ca->delay_min = delay;
	if (parameters.hystart && may_end_slow_start && !ca->found && tcp_in_slow_start(tp))
		hystart_update(sk, ca, delay, cubic_real_us(tp->tcp_mstamp), cubic_real_us(hystart_lump_us(sk)));
}

/* Looks at the path's RTT; once a round it may have changed. */
CC_INLINE void cubic_follow_rtt(struct tcp_sock *tp, struct cc_cubic *ca, const struct cc_law *law, u32 now)
{
	u32 round_ended = after(tp->snd_una, ca->rtt_round);

	if (round_ended)
		ca->rtt_round = tp->snd_nxt;
	cc_cubic_follow_rtt(ca, law, cubic_real_us(tp->srtt_us >> 3), round_ended, now);
}

/* Whether the window may grow. The rule with headroom is tcp_is_cwnd_limited of Linux 2.6.29 for
 * devices without segmentation offload: it counts what was in flight before the ACK. */
CC_INLINE int cubic_may_grow(struct tcp_sock *tp, u32 acked)
{
	if (parameters.headroom)
		return tp->snd_cwnd <= tcp_packets_in_flight(tp) + acked + parameters.headroom;
	return tcp_is_cwnd_limited(tp);
}

CC_INLINE void cubic_cong_avoid(struct sock *sk, struct cc_cubic *ca, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cc_law law = cubic_law();
	u32 now;

	if (!cubic_may_grow(tp, acked))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	now = jiffies32();
	if (law.form != CC_FORM_PLAIN)
		cubic_follow_rtt(tp, ca, &law, now);
	cc_cubic_update(ca, &law, tp->snd_cwnd, acked, now);
	tcp_cong_avoid_ai(tp, ca->cnt, acked);
}

CC_INLINE u32 cubic_ssthresh(struct sock *sk, struct cc_cubic *ca)
{
	struct cc_law law = cubic_law();

	return cc_cubic_decrease(ca, &law, tcp_sk(sk)->snd_cwnd, jiffies32());
}

#endif
