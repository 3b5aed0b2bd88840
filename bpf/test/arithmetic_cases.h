/* SPDX-License-Identifier: GPL-2.0 */
/* One question to the arithmetic, as tests ask it of the BPF program and of the host's. */
#ifndef AIRTIDE_CC_MATH_CASES_H
#define AIRTIDE_CC_MATH_CASES_H

#include "cubic.h"
#include "compound.h"

enum cc_question {
	CC_ASK_CBRT, /* of wide */
	CC_ASK_SQRT, /* of wide */
	CC_ASK_K, /* gap, RTT, reference */
	CC_ASK_OFFSET, /* ticks, RTT, reference */
	CC_ASK_POWER_3_4, /* window */
	CC_ASK_QUEUED, /* window, base RTT, RTT */
	CC_ASK_TUNE, /* gamma, diff_reno, lambda */
	CC_ASK_FRIENDLY, /* window, acknowledged packets not counted yet, beta: what Reno's window is more, and what is
			    left */
	CC_ASK_TARGET, /* gap, RTT, reference, jiffies since the epoch began, RTT before, form; hz 1000, window 1000 */
	CC_ASK_TARGET_AT, /* gap, -, ticks per second, jiffies since the epoch began, minimum RTT; window 1000 */
};

struct cc_case {
	enum cc_question question;
	u32 a, b, c, d, e, f;
	u64 wide;
	u64 answer;
};

/* Where the cubic is in an epoch that began with RTT e and had RTT b from jiffy d on, so many
 * jiffies (wide) later. */
CC_INLINE u64 cc_ask_target(const struct cc_case *q)
{
	struct cc_law law = {.form = q->f, .hz = 1000, .beta = 717, .rtt_ref_us = q->c};
	struct cc_cubic ca = {};
	const u32 begin = 5;

	cc_cubic_reset(&ca);
	ca.last_max_cwnd = 1000 + q->a;
	cc_cubic_follow_rtt(&ca, &law, q->e, 1, begin);
	cc_cubic_update(&ca, &law, 1000, 1, begin);
	cc_cubic_follow_rtt(&ca, &law, q->b, 1, begin + q->d);
	return cc_cubic_target(&ca, &law, begin + q->d + (u32)q->wide);
}

/* Where plain CUBIC is on a kernel of so many ticks per second. */
CC_INLINE u64 cc_ask_target_at(const struct cc_case *q)
{
	struct cc_law law = {.form = CC_FORM_PLAIN, .hz = q->c, .beta = 717};
	struct cc_cubic ca = {};
	const u32 begin = 5;

	cc_cubic_reset(&ca);
	ca.last_max_cwnd = 1000 + q->a;
	ca.delay_min = q->e;
	cc_cubic_update(&ca, &law, 1000, 1, begin);
	return cc_cubic_target(&ca, &law, begin + q->d);
}

CC_INLINE u64 cc_ask_friendly(const struct cc_case *q)
{
	struct cc_law law = {.beta = q->c};
	struct cc_cubic ca = {.ack_cnt = q->b, .cnt = ~0U};

	cc_cubic_friendly(&ca, &law, q->a);
	return (u64)ca.tcp_cwnd << 32 | ca.ack_cnt;
}

CC_INLINE u64 cc_ask(const struct cc_case *q)
{
	struct cc_compound_law law = {.gamma_low = 5 * CC_PACKET, .gamma_high = 30 * CC_PACKET, .lambda = q->c};

	switch (q->question) {
	case CC_ASK_CBRT:
		return cc_cbrt(q->wide);
	case CC_ASK_SQRT:
		return cc_sqrt(q->wide);
	case CC_ASK_K:
		return cc_cubic_k(cc_scale_rtt(q->b, q->c), q->a);
	case CC_ASK_OFFSET:
		return cc_cubic_offset(cc_scale_rtt(q->b, q->c), q->a);
	case CC_ASK_POWER_3_4:
		return cc_power_3_4(q->a);
	case CC_ASK_QUEUED:
		return cc_queued(q->a, q->b, q->c);
	case CC_ASK_TUNE:
		return cc_compound_tune(q->a, q->b, &law);
	case CC_ASK_FRIENDLY:
		return cc_ask_friendly(q);
	case CC_ASK_TARGET:
		return cc_ask_target(q);
	case CC_ASK_TARGET_AT:
		return cc_ask_target_at(q);
	}
	return 0;
}

#endif
