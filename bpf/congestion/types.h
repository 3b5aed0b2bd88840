/* SPDX-License-Identifier: GPL-2.0 */
/* What the congestion controls' arithmetic is written in, for BPF programs and for the host. */
#ifndef AIRTIDE_CC_TYPES_H
#define AIRTIDE_CC_TYPES_H

#include "integers.h"

#define CC_INLINE static inline __attribute__((always_inline, unused))

/* A function of numbers that the verifier checks once, by itself. Of its result it knows
 * nothing, and so does not follow every value of it through what comes after. */
#ifdef __bpf__
#define CC_APART __attribute__((noinline))
#else
#define CC_APART CC_INLINE
#endif

#endif
