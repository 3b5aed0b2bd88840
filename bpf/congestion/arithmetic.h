/* SPDX-License-Identifier: GPL-2.0 */
/* The congestion controls' arithmetic, in integers: no floating point, no signed division and
 * only loops of a constant number of rounds, so that it compiles for BPF and for the host alike.
 * Error bounds stand at each function and hold for RTTs of 0.1 ms to 4 s against references of 1
 * ms to 10 s, windows of 2 to 1e6 packets and epochs of 12 hours.
 *
 * Units, as in the kernel's tcp_cubic.c: windows in packets, time within an epoch in 1/1024 s
 * ("ticks"). */
#ifndef AIRTIDE_CC_MATH_H
#define AIRTIDE_CC_MATH_H

#include "types.h"

/* The greatest window in packets: a thousand times more than any path holds, and far below the
 * greatest u32. */
#define CC_WINDOW_MAX (1U << 30)

#define CC_TICK_SHIFT 10

/* How many bits it takes to write v: 0 for 0, 64 for the largest. */
CC_APART u32 cc_bits(u64 v)
{
	u32 bits = 0, step;

	for (step = 32; step; step >>= 1) {
		if (v >> step) {
			v >>= step;
			bits += step;
		}
	}
	return bits + (u32)v;
}

/* The upper 32 bits of v and, added to *exponent, how many were dropped: relative error below
 * 2^-31. */
CC_INLINE u32 cc_narrow(u64 v, s32 *exponent)
{
	u32 bits = cc_bits(v);

	if (bits <= 32)
		return v;
	*exponent += bits - 32;
	return v >> (bits - 32);
}

/* The cube root, rounded down: exact. Newton's method from a power of two above the root, at
 * most twice as large. It falls to the root and, in integers, would jump up from there: the
 * least is kept. The relative error falls as 1, 0.42, 0.11, 0.011, 1e-4, 1e-8, 1e-16, and one
 * step more mends what the divisions round away. */
CC_APART u32 cc_cbrt(u64 a)
{
	u64 x = 1ULL << (cc_bits(a) + 2) / 3, next;
	u32 i;

	if (!a)
		return 0;
	for (i = 0; i < 7; i++) {
		next = (2 * x + a / (x * x)) / 3;
		x = next < x ? next : x;
	}
	return x;
}

/* The square root, rounded down: exact. As above; the error falls as 1, 0.25, 0.025, 3e-4, 5e-8,
 * 1e-15. */
CC_APART u32 cc_sqrt(u64 a)
{
	u64 x = 1ULL << (cc_bits(a) + 1) / 2, next;
	u32 i;

	if (!a)
		return 0;
	for (i = 0; i < 6; i++) {
		next = (x + a / x) / 2;
		x = next < x ? next : x;
	}
	return x;
}

/* CUBIC's constant C in packets per cubed tick: mantissa / 2^shift, with the mantissa's highest
 * bit set. */
struct cc_scale {
	u32 mantissa;
	u32 shift;
};

/* C = 0.4 packets/s^3 as the kernel has it, 410/1024: 410/2^40 per cubed tick. The kernel
 * derives it from 0.041 packets per RTT and second squared at an RTT of 100 ms. */
#define CC_CUBIC_C 410
#define CC_CUBIC_C_SHIFT 40

CC_INLINE struct cc_scale cc_scale_plain(void)
{
	struct cc_scale c = {(u32)CC_CUBIC_C << 23, CC_CUBIC_C_SHIFT + 23};

	return c;
}

/* C * rtt / reference: exact when both are equal, else with a relative error below 2^-30.
 * Without an RTT it is C. */
CC_INLINE struct cc_scale cc_scale_rtt(u32 rtt_us, u32 reference_us)
{
	u64 numerator = (u64)CC_CUBIC_C * rtt_us;
	u32 up = 64 - cc_bits(numerator);
	s32 dropped = 0;
	struct cc_scale c;

	if (!rtt_us || !reference_us)
		return cc_scale_plain();
	c.mantissa = cc_narrow((numerator << up) / reference_us, &dropped);
	c.shift = CC_CUBIC_C_SHIFT + up - dropped;
	return c;
}

/* How long the cubic takes for a gap of so many packets: cbrt(gap / C) in ticks, CUBIC's K. At
 * most 1 tick and 2^-20 of the result too little, never more than 2^-20 of it too much. With C
 * scaled by RTT / RTT_ref this is K * cbrt(RTT_ref / RTT). */
CC_INLINE u32 cc_cubic_k(struct cc_scale c, u32 gap)
{
	u32 up = 64 - cc_bits(gap), drop, root;
	u64 m;
	s32 exponent;

	if (!gap || !c.mantissa)
		return 0;
	/* gap / C = m * 2^exponent; m is made as long as it goes, and the exponent a multiple of 3. */
	m = ((u64)gap << up) / c.mantissa;
	exponent = (s32)c.shift - (s32)up;
	up = 64 - cc_bits(m);
	m <<= up;
	exponent -= (s32)up;
	drop = (u32)(3 * 256 - exponent) % 3;
	m >>= drop;
	exponent += (s32)drop;
	root = cc_cbrt(m);
	if (exponent > 0)
		return root << ((u32)exponent / 3 & 31);
	return root >> ((u32)-exponent / 3 & 31);
}

/* How many packets the cubic is away from its origin so many ticks before or after it: C *
 * ticks^3, rounded down and at most CC_WINDOW_MAX. Relative error below 2^-29 besides the
 * rounding, exact as long as nothing exceeds 32 bits. */
CC_INLINE u32 cc_cubic_offset(struct cc_scale c, u32 ticks)
{
	s32 exponent = -(s32)c.shift;
	u64 m = cc_narrow((u64)ticks * ticks, &exponent);

	m = cc_narrow(m * ticks, &exponent);
	m *= c.mantissa;
	if (exponent > 0)
		return m ? CC_WINDOW_MAX : 0;
	if (exponent <= -64)
		return 0;
	m >>= -exponent;
	return m < CC_WINDOW_MAX ? m : CC_WINDOW_MAX;
}

/* One packet in the fixed point of Compound. */
#define CC_PACKET_SHIFT 8
#define CC_PACKET (1U << CC_PACKET_SHIFT)

/* window^(3/4) in 1/256 packet, for windows below 2^24: the square root times its own square
 * root. At most 1/256 packet and 2^-18 of the result too little, never too much. */
CC_INLINE u32 cc_power_3_4(u32 window)
{
	u64 half, quarter;

	if (window >= 1U << 24)
		window = (1U << 24) - 1;
	half = cc_sqrt((u64)window << 40); /* window^(1/2) * 2^20 */
	quarter = cc_sqrt(half << 20); /* window^(1/4) * 2^20 */
	return half * quarter >> (40 - CC_PACKET_SHIFT);
}

/* How many packets of a window wait in queues, in 1/256 packet, rounded down: window * (1 - base
 * / rtt). */
CC_INLINE u32 cc_queued(u32 window, u32 base_us, u32 rtt_us)
{
	if (rtt_us <= base_us)
		return 0;
	if (window >= 1U << 24)
		window = (1U << 24) - 1;
	return ((u64)window << CC_PACKET_SHIFT) * (rtt_us - base_us) / rtt_us;
}

#endif
