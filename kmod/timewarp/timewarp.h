/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TIMEWARP_H
#define TIMEWARP_H

#include <linux/types.h>

/* N = num / den, in lowest terms: how many times as fast as real time the clock runs. */
struct ratio {
	u32 num, den;
};

static const struct ratio one = {1, 1};

static inline bool same(struct ratio a, struct ratio b)
{
	return a.num == b.num && a.den == b.den;
}

/* clock.c: the clock source. */
u64 counter_hz(void);
bool clock_is_selected(void);
int start_clock(void (*on_deselected)(void));
int warp_clock(struct ratio r);
void stop_clock(void);

/* timers.c: the clock event devices. */
int start_timers(void);
void warp_timers(struct ratio r);
void stop_timers(void);

/* tcp.c: the retransmission timeout. */
enum rto_mode {
	RTO_NONE,
	RTO_BOUNDS,
	RTO_PAPER,
};

#define INITIAL_RTO_MAGIC 0x6f74722065646974ULL /* "tide rto" */

struct initial_rto {
	u64 magic;
	u32 ticks; /* of the clock; 0: the kernel's own */
	u32 unused;
};

extern struct initial_rto initial_rto;

int warp_rto(enum rto_mode mode, struct ratio r);

/* find.c: functions of the kernel that are not exported. */
void *find_function(const char *name);

#endif
