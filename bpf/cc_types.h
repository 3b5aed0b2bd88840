/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's names of integers, for the congestion controls' arithmetic in BPF programs and on the host. */
#ifndef AIRTIDE_CC_TYPES_H
#define AIRTIDE_CC_TYPES_H

typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef __INT32_TYPE__ s32;
typedef __INT64_TYPE__ s64;

#define CC_INLINE static inline __attribute__((always_inline, unused))

/*
 * A function of numbers that the verifier checks once, by itself. Of its result it knows nothing, and so does not
 * follow every value of it through what comes after.
 */
#ifdef __bpf__
#define CC_APART __attribute__((noinline))
#else
#define CC_APART CC_INLINE
#endif

#endif
