/* SPDX-License-Identifier: GPL-2.0 */
/* Bounds of the congestion window, set from outside while connections run: for one socket, or for
 * all. Those of a socket come first. User space changes a map and then the generation. Each socket
 * compares the generation at its next ACK and then looks up its bounds anew. Otherwise an ACK
 * costs one array lookup. */
#ifndef AIRTIDE_CC_BOUNDS_H
#define AIRTIDE_CC_BOUNDS_H

#include "tcp_congestion.h"

#define CC_BOUNDS_MAX 65536 /* sockets */

/* In packets; 0 for none. */
struct cc_bounds {
	u32 lower;
	u32 upper;
};

/* The generation, which changes after every change of bounds. It has a map of its own: a program
 * that sets bounds need not read them. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} bounds_changed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cc_bounds);
} bounds_all SEC(".maps");

/* By the socket's cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CC_BOUNDS_MAX);
	__type(key, u64);
	__type(value, struct cc_bounds);
} bounds_socket SEC(".maps");

/* The time until which bounds hold (CLOCK_MONOTONIC, ns); 0 for ever. The process that sets bounds
 * renews it. After its end, also by a crash, sockets are free. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} bounds_lease SEC(".maps");

CC_INLINE int bounds_expired(void)
{
	u32 zero = 0;
	u64 *until = bpf_map_lookup_elem(&bounds_lease, &zero);
	u64 lease = until ? *(volatile u64 *)until : 0;

	return lease && bpf_ktime_get_ns() > lease;
}

/* The bounds that a socket has seen last. */
struct cc_bounded {
	u64 generation;
	struct cc_bounds bounds;
};

/* Looks up the socket's bounds if some have changed. A socket has a cookie only after somebody
 * asked for it. */
CC_INLINE void bounds_refresh(struct sock *sk, struct cc_bounded *held)
{
	u64 cookie = sk->__sk_common.skc_cookie.counter, *generation;
	struct cc_bounds *b;
	u32 zero = 0;

	if (bounds_expired()) {
		held->bounds.lower = held->bounds.upper = 0;
		held->generation = ~0ULL; /* looked up again when the lease is renewed */
		return;
	}
	generation = bpf_map_lookup_elem(&bounds_changed, &zero);
	if (!generation || held->generation == *(volatile u64 *)generation)
		return;
	held->generation = *(volatile u64 *)generation;
	b = bpf_map_lookup_elem(&bounds_socket, &cookie);
	if (b) {
		held->bounds = *b;
		return;
	}
	b = bpf_map_lookup_elem(&bounds_all, &zero);
	if (b)
		held->bounds = *b;
}

CC_INLINE u32 bounds_clamp(const struct cc_bounds *b, u32 window)
{
	if (b->upper && window > b->upper)
		return b->upper;
	return window < b->lower ? b->lower : window;
}

CC_INLINE void bounds_forget(struct sock *sk)
{
	u64 cookie = sk->__sk_common.skc_cookie.counter;

	bpf_map_delete_elem(&bounds_socket, &cookie);
}

#endif
