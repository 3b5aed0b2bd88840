/* SPDX-License-Identifier: GPL-2.0 */
/* Types and macros of the congestion controls' arithmetic, for BPF programs and for the host. */
#ifndef AIRTIDE_CC_TYPES_H
#define AIRTIDE_CC_TYPES_H

#include "integers.h"

#define CC_INLINE static inline __attribute__((always_inline, unused))

/* A function of numbers that the verifier checks once. It takes the result for any number, so it
 * does not follow each possible value through the rest of the program. */
#ifdef __bpf__
#define CC_APART __attribute__((noinline))
#else
#define CC_APART CC_INLINE
#endif

#endif
