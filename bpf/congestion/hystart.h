/* SPDX-License-Identifier: GPL-2.0 */
/* HyStart, the end of slow start before loss, as net/ipv4/tcp_cubic.c has it from Linux 6.14 on:
 * slow start ends when the ACKs of a round stretch over half the minimum RTT, or when a round's
 * RTT has grown. The kernel counts its findings in TcpExtTCPHystart*, which a BPF program
 * cannot. */
#ifndef AIRTIDE_CC_HYSTART_H
#define AIRTIDE_CC_HYSTART_H

#include "cubic.h"
#include "tcp_congestion.h"

#define HYSTART_MIN_SAMPLES 8
#define HYSTART_DELAY_MIN_US 4000
#define HYSTART_DELAY_MAX_US 16000
#define HYSTART_LOW_WINDOW 16
#define HYSTART_ACK_SPACING_US 2000
#define HYSTART_ACK_DELAY_MAX_US 1000
#define USEC_PER_SEC 1000000

CC_INLINE void hystart_reset(struct tcp_sock *tp, struct cc_cubic *ca, u32 now_us)
{
	ca->round_start = ca->last_ack = now_us;
	ca->end_seq = tp->snd_nxt;
	ca->curr_rtt = ~0U;
	ca->sample_cnt = 0;
}

/* How long four of the largest super-packets take at the pacing rate, by the clock that it is
 * of: ACKs of aggregates come in lumps. */
CC_INLINE u64 hystart_lump_us(struct sock *sk)
{
	u64 rate = sk->sk_pacing_rate;

	return rate ? (u64)sk->sk_gso_max_size * 4 * USEC_PER_SEC / rate : 0;
}

CC_INLINE void hystart_found(struct tcp_sock *tp, struct cc_cubic *ca)
{
	ca->found = 1;
	tp->snd_ssthresh = tp->snd_cwnd;
}

/* All times in one clock, which need not be the kernel's. */
CC_INLINE void hystart_update(struct sock *sk, struct cc_cubic *ca, u32 delay, u32 now, u64 lump)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 threshold;

	if (after(tp->snd_una, ca->end_seq))
		hystart_reset(tp, ca, now);
	if (tp->snd_cwnd < HYSTART_LOW_WINDOW)
		return;

	if ((s32)(now - ca->last_ack) <= HYSTART_ACK_SPACING_US) {
		ca->last_ack = now;
		threshold = ca->delay_min + (lump < HYSTART_ACK_DELAY_MAX_US ? lump : HYSTART_ACK_DELAY_MAX_US);
		if (!sk->sk_pacing_status)
			threshold >>= 1;
		if ((s32)(now - ca->round_start) > (s64)threshold)
			hystart_found(tp, ca);
	}

	if (ca->curr_rtt > delay)
		ca->curr_rtt = delay;
	if (ca->sample_cnt < HYSTART_MIN_SAMPLES) {
		ca->sample_cnt++;
		return;
	}
	threshold = ca->delay_min >> 3;
	if (threshold < HYSTART_DELAY_MIN_US)
		threshold = HYSTART_DELAY_MIN_US;
	if (threshold > HYSTART_DELAY_MAX_US)
		threshold = HYSTART_DELAY_MAX_US;
	if (ca->curr_rtt > ca->delay_min + threshold)
		hystart_found(tp, ca);
}

#endif
