/* SPDX-License-Identifier: GPL-2.0 */
/* Parameters of a loaded congestion control, and the number of sockets that use it. Package
 * congestion finds both through the maps of the programs of a registered congestion control. The
 * magic shows that airtide made it. */
#ifndef AIRTIDE_CC_PARAMETERS_H
#define AIRTIDE_CC_PARAMETERS_H

#include "tcp_congestion.h"

enum cc_kind {
	CC_KIND_CUBIC_PLAIN = 1,
	CC_KIND_CUBIC_RTTK,
	CC_KIND_CUBIC_RTT,
	CC_KIND_CUBIC_BOUND,
	CC_KIND_COMPOUND,
};

struct cc_parameters {
	char magic[8];
	enum cc_kind kind;
	u32 hz; /* timer ticks per second of real time */
	/* CUBIC */
	u32 rtt_ref_us;
	u32 beta; /* what remains of the window after a loss, in 1/1024 */
	u32 hystart;
	/* Compound, in 1/256 packet where packets */
	u32 gamma; /* at first and after a timeout */
	u32 gamma_low;
	u32 gamma_high;
	u32 lambda; /* weight of a new gamma, in 1/256 */
	u32 low_window; /* packets */
	/* CUBIC: the kernel's clock runs time_num / time_den times as fast as real time, by which
	 * the window shall grow. */
	u32 time_num;
	u32 time_den;
	/* cubic_plain: the window grows only while it is at most so many packets larger than what was
	 * in flight, as kernels before 3.16 have it with 3. 0: as today's kernel has it. */
	u32 headroom;
};

#define CC_MAGIC "airtide"

/* Sockets that began and ceased to use it. */
struct cc_usage {
	u64 begun;
	u64 ended;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cc_usage);
} usage SEC(".maps");

CC_INLINE void cc_begin_use(void)
{
	u32 zero = 0;
	struct cc_usage *u = bpf_map_lookup_elem(&usage, &zero);

	if (u)
		__sync_fetch_and_add(&u->begun, 1);
}

CC_INLINE void cc_end_use(void)
{
	u32 zero = 0;
	struct cc_usage *u = bpf_map_lookup_elem(&usage, &zero);

	if (u)
		__sync_fetch_and_add(&u->ended, 1);
}

#endif
