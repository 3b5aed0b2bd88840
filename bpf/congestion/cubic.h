/* SPDX-License-Identifier: GPL-2.0 */
/* CUBIC's window growth, as computation: time and the socket's numbers come as arguments. It
 * follows net/ipv4/tcp_cubic.c of Linux 6.18 (v2.3) step by step, with three forms of the cubic:
 *
 *   plain  W(t) = Wmax + C (t - K)^3,   K = cbrt((Wmax - W0) / C)
 *   K      the cubic as it is,          K = cbrt((Wmax - W0) / C) * cbrt(RTT_ref / RTT)
 *          (Kozu et al., CANDAR 2013)
 *   C      W(t) = Wmax + C' (t - K)^3,  K = cbrt((Wmax - W0) / C'),  C' = C * RTT / RTT_ref
 *
 * Differences from the kernel: the cube root is exact (the kernel's is within about 0.2 % on
 * average), and windows saturate where the kernel's overflow (after 338 s of an epoch without
 * loss). */
#ifndef AIRTIDE_CC_CUBIC_H
#define AIRTIDE_CC_CUBIC_H

#include "arithmetic.h"

enum cc_form {
	CC_FORM_PLAIN,
	CC_FORM_K,
	CC_FORM_C,
};

#define CC_BETA_SCALE 1024

/* An RTT counts as changed when it differs from the one in use by more than its 1/2^3. */
#define CC_RTT_CHANGE_SHIFT 3

/* Values that are the same during a connection. */
struct cc_law {
	enum cc_form form;
	u32 hz; /* timer ticks (jiffies) per second */
	u32 beta; /* what remains of the window after a loss, in 1/1024 */
	u32 rtt_ref_us;
};

/* The private state. Up to curr_rtt it is the kernel's struct bictcp, so that what reads the one
 * can read the other. */
struct cc_cubic {
	u32 cnt; /* one packet more after so many are acknowledged */
	u32 last_max_cwnd;
	u32 last_cwnd;
	u32 last_time;
	u32 origin; /* the cubic's middle, in packets */
	u32 k; /* ticks from the epoch's beginning to the origin */
	u32 delay_min; /* us */
	u32 epoch_start; /* jiffies; 0 between epochs */
	u32 ack_cnt;
	u32 tcp_cwnd; /* what Reno would have */
	u16 in_use; /* init was called; kernels such as 6.12 call release without it too */
	u8 sample_cnt;
	u8 found; /* slow start has found its end */
	u32 round_start; /* us */
	u32 end_seq;
	u32 last_ack; /* us */
	u32 curr_rtt; /* us */

	struct cc_scale scale; /* of K, and in form C of the cubic */
	u32 rtt_us; /* that the scale is for; 0 for none */
	u32 rtt_round; /* sequence number that ends the round in which the RTT was looked at */
	u32 epoch_gap; /* packets from the window at the epoch's beginning to the origin */
	u32 lost_at; /* jiffies of the decrease that the next epoch follows; 0 for none */
};

/* internal/observe/bpf/cc_own.go reads recorded states at these places. */
#define CC_CUBIC_AT(member, word)                                                                                      \
	_Static_assert(__builtin_offsetof(struct cc_cubic, member) == 4 * (word),                                      \
		       "the recorder reads " #member " elsewhere")
CC_CUBIC_AT(cnt, 0);
CC_CUBIC_AT(last_max_cwnd, 1);
CC_CUBIC_AT(origin, 4);
CC_CUBIC_AT(k, 5);
CC_CUBIC_AT(delay_min, 6);
CC_CUBIC_AT(epoch_start, 7);
CC_CUBIC_AT(tcp_cwnd, 9);
CC_CUBIC_AT(scale.mantissa, 15);
CC_CUBIC_AT(scale.shift, 16);

CC_INLINE void cc_cubic_reset(struct cc_cubic *ca)
{
	ca->cnt = ca->last_max_cwnd = ca->last_cwnd = ca->last_time = 0;
	ca->origin = ca->k = ca->delay_min = ca->epoch_start = 0;
	ca->ack_cnt = ca->tcp_cwnd = 0;
	ca->found = 0;
	ca->scale = cc_scale_plain();
	ca->rtt_us = ca->epoch_gap = ca->lost_at = 0;
}

/* Ticks since the epoch began, one minimum RTT ahead: where the window shall be when this ACK's
 * packets are answered. */
CC_INLINE u32 cc_cubic_time(const struct cc_cubic *ca, const struct cc_law *law, u32 now)
{
	s64 jiffies = (s32)(now - ca->epoch_start);
	u64 t;

	jiffies += ((u64)ca->delay_min * law->hz + 999999) / 1000000; /* usecs_to_jiffies rounds up */
	if (jiffies <= 0)
		return 0;
	t = ((u64)jiffies << CC_TICK_SHIFT) / law->hz;
	return t < (u32)-1 ? t : (u32)-1;
}

CC_INLINE struct cc_scale cc_cubic_curve(const struct cc_cubic *ca, const struct cc_law *law)
{
	return law->form == CC_FORM_C ? ca->scale : cc_scale_plain();
}

/* Begins an epoch: in form C when the window was decreased, not when that is repaired. A repair
 * takes a round trip, in which the window stands; the longer the round trip, the more of each
 * epoch would be lost. */
CC_INLINE void cc_cubic_begin(struct cc_cubic *ca, const struct cc_law *law, u32 cwnd, u32 acked, u32 now)
{
	ca->epoch_start = law->form == CC_FORM_C && ca->lost_at ? ca->lost_at : now;
	ca->lost_at = 0;
	ca->ack_cnt = acked;
	ca->tcp_cwnd = cwnd;
	ca->epoch_gap = ca->last_max_cwnd > cwnd ? ca->last_max_cwnd - cwnd : 0;
	ca->origin = cwnd + ca->epoch_gap;
	ca->k = cc_cubic_k(ca->scale, ca->epoch_gap);
}

/* Takes another RTT into use. Between epochs that is all. Within one, K is computed anew for the
 * gap with which the epoch began; in form C the epoch's beginning is moved besides, so that the
 * new cubic goes on at the packet where the old one is. */
CC_INLINE void cc_cubic_use_rtt(struct cc_cubic *ca, const struct cc_law *law, u32 rtt_us, u32 now)
{
	u32 t = 0, away = 0, ahead;

	if (ca->epoch_start && law->form == CC_FORM_C) {
		t = cc_cubic_time(ca, law, now);
		away = cc_cubic_offset(ca->scale, t < ca->k ? ca->k - t : t - ca->k);
	}
	ca->scale = cc_scale_rtt(rtt_us, law->rtt_ref_us);
	ca->rtt_us = rtt_us;
	if (!ca->epoch_start)
		return;
	if (law->form == CC_FORM_C) {
		away = cc_cubic_k(ca->scale, away);
		ahead = t < ca->k;
		ca->k = cc_cubic_k(ca->scale, ca->epoch_gap);
		if (ahead)
			t = ca->k > away ? ca->k - away : 0;
		else
			t = ca->k + away;
		ca->epoch_start = now + (u32)(((u64)ca->delay_min * law->hz + 999999) / 1000000) -
				  (u32)((u64)t * law->hz >> CC_TICK_SHIFT);
		if (!ca->epoch_start)
			ca->epoch_start = 1; /* 0 says that there is no epoch */
		return;
	}
	ca->k = cc_cubic_k(ca->scale, ca->epoch_gap);
}

/* Follows the path's RTT: the smoothed one, at the beginning of each epoch and, at the end of
 * each round, when it has changed. Throughput is the window over the whole RTT, waiting in
 * queues included, so this is the RTT for which a window in proportion makes throughputs equal;
 * the minimum would stay for minutes after the path has become longer. */
CC_INLINE void cc_cubic_follow_rtt(struct cc_cubic *ca, const struct cc_law *law, u32 srtt_us, u32 round_ended, u32 now)
{
	u32 difference = srtt_us > ca->rtt_us ? srtt_us - ca->rtt_us : ca->rtt_us - srtt_us;

	if (law->form == CC_FORM_PLAIN || !srtt_us || srtt_us == ca->rtt_us)
		return;
	if (!ca->epoch_start || (round_ended && difference > ca->rtt_us >> CC_RTT_CHANGE_SHIFT))
		cc_cubic_use_rtt(ca, law, srtt_us, now);
}

/* Where the cubic is. */
CC_INLINE u32 cc_cubic_target(const struct cc_cubic *ca, const struct cc_law *law, u32 now)
{
	u32 t = cc_cubic_time(ca, law, now);
	u32 away = cc_cubic_offset(cc_cubic_curve(ca, law), t < ca->k ? ca->k - t : t - ca->k);

	if (t >= ca->k)
		return ca->origin + away;
	return ca->origin > away ? ca->origin - away : 0;
}

/* No slower than Reno with CUBIC's decrease would be (RFC 9438, section 4.3). */
CC_INLINE void cc_cubic_friendly(struct cc_cubic *ca, const struct cc_law *law, u32 cwnd)
{
	u32 scale = 8 * (CC_BETA_SCALE + law->beta) / 3 / (CC_BETA_SCALE - law->beta);
	u32 acks = cwnd * scale >> 3, n;

	if (acks && ca->ack_cnt > acks) {
		n = (ca->ack_cnt - 1) / acks;
		ca->ack_cnt -= n * acks;
		ca->tcp_cwnd += n;
	}
	if (ca->tcp_cwnd > cwnd) {
		n = cwnd / (ca->tcp_cwnd - cwnd);
		if (ca->cnt > n)
			ca->cnt = n;
	}
}

/* Computes cnt from the window and the time: after how many acknowledged packets the window
 * grows by one. */
CC_INLINE void cc_cubic_update(struct cc_cubic *ca, const struct cc_law *law, u32 cwnd, u32 acked, u32 now)
{
	u32 target;

	ca->ack_cnt += acked;
	if (ca->last_cwnd == cwnd && (s32)(now - ca->last_time) <= (s32)(law->hz / 32))
		return;
	/* The cubic is looked at once per jiffy at most; every decrease ends the epoch, which asks
	 * for a new look. */
	if (!ca->epoch_start || now != ca->last_time) {
		ca->last_cwnd = cwnd;
		ca->last_time = now;
		if (!ca->epoch_start)
			cc_cubic_begin(ca, law, cwnd, acked, now);
		target = cc_cubic_target(ca, law, now);
		ca->cnt = target > cwnd ? cwnd / (target - cwnd) : 100 * cwnd;
		/* Before the first loss the bandwidth is not known: at least 5 % per RTT. */
		if (!ca->last_max_cwnd && ca->cnt > 20)
			ca->cnt = 20;
	}
	cc_cubic_friendly(ca, law, cwnd);
	if (ca->cnt < 2)
		ca->cnt = 2; /* at most half a window more per RTT */
}

/* The slow start threshold after a loss, with fast convergence: who lost below the last maximum
 * makes room. */
CC_INLINE u32 cc_cubic_decrease(struct cc_cubic *ca, const struct cc_law *law, u32 cwnd, u32 now)
{
	u32 remains = cwnd * law->beta / CC_BETA_SCALE;

	ca->epoch_start = 0;
	ca->lost_at = now ? now : 1;
	if (cwnd < ca->last_max_cwnd)
		ca->last_max_cwnd = cwnd * (CC_BETA_SCALE + law->beta) / (2 * CC_BETA_SCALE);
	else
		ca->last_max_cwnd = cwnd;
	return remains > 2 ? remains : 2;
}

/* Idle time does not count to the epoch. */
CC_INLINE void cc_cubic_resume(struct cc_cubic *ca, u32 last_sent, u32 now)
{
	s32 idle = now - last_sent;

	ca->lost_at = 0;
	if (!ca->epoch_start || idle <= 0)
		return;
	ca->epoch_start += idle;
	if ((s32)(now - ca->epoch_start) < 0)
		ca->epoch_start = now;
}

#endif
