/* SPDX-License-Identifier: GPL-2.0 */
/* Compound TCP as computation, after draft-sridharan-tcpm-ctcp-02 and Tan et al., INFOCOM 2006:
 * a Reno part, and a delay part that fills what the path has room for while little waits in its
 * queue. The window, win, is their sum.
 *
 *   each ACK      Reno part += 1 / win
 *   each round    diff = win (1 - baseRTT / RTT), the packets that wait; RTT is the round's minimum
 *                 diff < gamma:  delay part += max(0, alpha win^(3/4) - 1)
 *                 otherwise:     delay part -= eta diff, not below 0
 *   each loss     both parts are halved; gamma moves towards 3/4 of the Reno part's
 *                 packets in the queue
 *   each timeout  delay part 0, gamma as at first, baseRTT as the smoothed RTT
 *
 * with alpha 1/8, eta 1. Below low_window packets, and in slow start, it is Reno. The draft
 * leaves open with which weight gamma moves (lambda). */
#ifndef AIRTIDE_CC_COMPOUND_MATH_H
#define AIRTIDE_CC_COMPOUND_MATH_H

#include "arithmetic.h"

#define COMPOUND_ALPHA_SHIFT 3
#define COMPOUND_ROUND_SAMPLES 3 /* a round with fewer says nothing */
#define COMPOUND_UNKNOWN (~0U)

/* Values that are the same during a connection. Packets and lambda are in 1/256. */
struct cc_compound_law {
	u32 gamma, gamma_low, gamma_high;
	u32 lambda;
	u32 low_window; /* whole packets */
};

struct cc_compound {
	u32 delay_part; /* 1/256 packet */
	u32 prior_delay_part; /* before the last loss, to be taken back with it */
	u32 gamma; /* 1/256 packet */
	u32 diff_reno; /* packets of the Reno part that waited in the last round, in 1/256; COMPOUND_UNKNOWN */
	u32 base_rtt; /* us; 0 before the first sample */
	u32 round_rtt; /* us, the least of the round */
	u32 round_samples;
	u32 round_end; /* sequence number */
	u32 open; /* no loss is being repaired: delays say something */
	u32 in_use; /* init was called; kernels such as 6.12 call release without it too */
};

/* internal/observe/bpf/cc_own.go reads recorded states at these places. */
#define CC_COMPOUND_AT(member, word)                                                                                   \
	_Static_assert(__builtin_offsetof(struct cc_compound, member) == 4 * (word),                                   \
		       "the recorder reads " #member " elsewhere")
CC_COMPOUND_AT(delay_part, 0);
CC_COMPOUND_AT(gamma, 2);
CC_COMPOUND_AT(diff_reno, 3);
CC_COMPOUND_AT(base_rtt, 4);

CC_INLINE void cc_compound_new_round(struct cc_compound *ca, u32 round_end)
{
	ca->round_rtt = COMPOUND_UNKNOWN;
	ca->round_samples = 0;
	ca->round_end = round_end;
}

CC_INLINE void cc_compound_sample(struct cc_compound *ca, u32 rtt_us)
{
	if (!ca->base_rtt || rtt_us < ca->base_rtt)
		ca->base_rtt = rtt_us;
	if (!ca->open)
		return;
	if (rtt_us < ca->round_rtt)
		ca->round_rtt = rtt_us;
	ca->round_samples++;
}

/* The delay part in whole packets, never the whole window. */
CC_INLINE u32 cc_compound_delay_packets(struct cc_compound *ca, u32 win)
{
	u32 packets = ca->delay_part >> CC_PACKET_SHIFT;

	if (packets < win)
		return packets;
	packets = win ? win - 1 : 0;
	ca->delay_part = packets << CC_PACKET_SHIFT;
	return packets;
}

/* The window after a round that ended with win. */
CC_INLINE u32 cc_compound_round(struct cc_compound *ca, const struct cc_compound_law *law, u32 win, u32 slow_start)
{
	u32 delay = cc_compound_delay_packets(ca, win), reno = win - delay, diff, more;

	if (slow_start || win < law->low_window) {
		/* Reno's from now on. */
		ca->delay_part = 0;
		ca->diff_reno = COMPOUND_UNKNOWN;
		return win;
	}
	if (!ca->open || ca->round_samples < COMPOUND_ROUND_SAMPLES)
		return win;
	diff = cc_queued(win, ca->base_rtt, ca->round_rtt);
	ca->diff_reno = cc_queued(reno, ca->base_rtt, ca->round_rtt);
	if (diff < ca->gamma) {
		more = cc_power_3_4(win) >> COMPOUND_ALPHA_SHIFT;
		if (more > CC_PACKET)
			ca->delay_part += more - CC_PACKET;
	} else {
		ca->delay_part = ca->delay_part > diff ? ca->delay_part - diff : 0;
	}
	return reno + (ca->delay_part >> CC_PACKET_SHIFT);
}

/* Gamma after a loss: a Reno flow had diff_reno packets in the queue that overflowed, and 3/4 of
 * that shall be enough. */
CC_INLINE u32 cc_compound_tune(u32 gamma, u32 diff_reno, const struct cc_compound_law *law)
{
	u64 wanted = (u64)diff_reno * 3 / 4, g;

	if (diff_reno == COMPOUND_UNKNOWN)
		return gamma;
	g = ((256 - law->lambda) * (u64)gamma + law->lambda * wanted) >> 8;
	if (g < law->gamma_low)
		return law->gamma_low;
	return g > law->gamma_high ? law->gamma_high : g;
}

/* The slow start threshold after a loss. */
CC_INLINE u32 cc_compound_decrease(struct cc_compound *ca, const struct cc_compound_law *law, u32 win)
{
	cc_compound_delay_packets(ca, win);
	ca->gamma = cc_compound_tune(ca->gamma, ca->diff_reno, law);
	ca->diff_reno = COMPOUND_UNKNOWN;
	ca->prior_delay_part = ca->delay_part;
	ca->delay_part /= 2;
	return win / 2 > 2 ? win / 2 : 2;
}

CC_INLINE void cc_compound_timeout(struct cc_compound *ca, const struct cc_compound_law *law, u32 srtt_us)
{
	ca->delay_part = 0;
	ca->gamma = law->gamma;
	ca->diff_reno = COMPOUND_UNKNOWN;
	ca->base_rtt = srtt_us;
}

#endif
