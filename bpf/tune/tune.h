/* SPDX-License-Identifier: GPL-2.0 */
/* The state of tune for a socket: for each tune that has changed it, the values before and after.
 *
 * The kernel keeps the state in one storage of the socket, and removes it with the socket. All
 * tunes of the machine share it, so each can be taken back in any order: the values that a tune
 * found go to the next tune that came after it, or back into the socket if there is none. */
#ifndef AIRTIDE_TUNE_H
#define AIRTIDE_TUNE_H

#include "kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "filter.h"

/* Settings, in the order in which they are set. */
enum tune_setting {
	TUNE_UPPER, /* bounds of cubic_bound, in packets; 0 is none */
	TUNE_LOWER,
	TUNE_CLAMP, /* snd_cwnd_clamp, for other congestion controls */
	TUNE_INITIAL_WINDOW, /* packets; of new sockets only, and nothing is left to take back */
	TUNE_PACING, /* bytes/s */
	TUNE_SNDBUF, /* as the kernel keeps it: twice what was asked for */
	TUNE_RCVBUF,
	TUNE_LOCKS, /* whether the buffers are fixed: follows from the two above */
	TUNE_NOTSENT_LOWAT,
	TUNE_WINDOW_CLAMP,
	TUNE_RTO_MIN, /* ticks */
	TUNE_RTO_MAX,
	TUNE_DELACK_MAX,
	TUNE_SETTINGS,
	TUNE_CC = 31, /* bit of the mask; the name stands apart */
};

#define BIT(n) (1u << (n))
#define TUNE_SLOTS 4 /* tunes that can change one socket */

enum tune_slot_flags {
	TUNE_PENDING = 1, /* chosen by its process at connect(), to be changed when established */
	TUNE_NEW = 2, /* the socket began while the tune was in force */
};

/* One tune's changes of one socket. */
struct tune_slot {
	u64 session; /* 0: free */
	u64 order; /* ns; a later one goes before */
	u32 mask;
	u32 flags;
	s64 old[TUNE_SETTINGS]; /* what was there before */
	s64 want[TUNE_SETTINGS];
	s64 left[TUNE_SETTINGS]; /* what was there after it was set */
	s16 error[32]; /* errno */
	char old_cc[16];
	char want_cc[16];
	char left_cc[16];
};

struct tuned {
	struct tune_slot slots[TUNE_SLOTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct tuned);
} tuned_sockets SEC(".maps");

enum tune_config_flags {
	TUNE_FOLLOW = 1, /* sockets are to be remembered though there is nothing to set on them */
	TUNE_RCVBUF_AT_LEAST = 2, /* only the window clamp asks for a receive buffer: a larger one stays */
};

/* The values that a tune sets. They may change while it runs; a mask of 0 stops it. */
struct tune_config {
	u64 session;
	u32 mask;
	u32 initial_rto; /* ticks; 0 leaves it */
	u32 tick_us;
	u32 flags; /* enum tune_config_flags */
	s64 want[TUNE_SETTINGS]; /* as the kernel keeps it */
	s32 option[TUNE_SETTINGS]; /* as the option takes it */
	u32 unused;
	char cc[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct tune_config);
} config SEC(".maps");

enum tune_count {
	TUNE_COUNT_LIVE, /* sockets that were there, changed */
	TUNE_COUNT_NEW, /* sockets that began since, changed */
	TUNE_COUNT_NO_ROOM, /* sockets that could not be remembered, and so were left alone */
	TUNE_COUNT_INITIAL_RTO, /* handshakes given an initial RTO */
	TUNE_COUNT_HELD, /* times that a window clamp had to be set anew */
	TUNE_COUNTS,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TUNE_COUNTS);
	__type(key, u32);
	__type(value, u64);
} counts SEC(".maps");

static __always_inline void tune_count(u32 which)
{
	u64 *n = bpf_map_lookup_elem(&counts, &which);

	if (n)
		__sync_fetch_and_add(n, 1);
}

/* The maps of each loaded cubic_bound (cc_bounds.h), by its name. */
struct tune_bounds {
	u32 lower;
	u32 upper;
};

struct tune_name {
	char name[16];
};

struct bounds_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__uint(key_size, sizeof(u64));
	__uint(value_size, sizeof(struct tune_bounds));
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 64);
	__uint(key_size, sizeof(struct tune_name));
	__array(values, struct bounds_map);
} bounds_by_name SEC(".maps");

struct changed_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u64));
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 64);
	__uint(key_size, sizeof(struct tune_name));
	__array(values, struct changed_map);
} changed_by_name SEC(".maps");

/* Fields that only tune reads. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock___tune {
	u8 sk_userlocks;
	unsigned long sk_max_pacing_rate;
};

/* A bit field of four bits before Linux 6.9. */
struct sock___locks {
	u8 sk_userlocks : 4;
};

struct inet_connection_sock___tune {
	__u32 icsk_rto_min;
	__u32 icsk_rto_max;
	__u32 icsk_delack_max;
};

struct tcp_sock___tune {
	u32 notsent_lowat;
	u32 window_clamp;
	u32 snd_cwnd_clamp;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp___tune {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

struct net___tune {
	u64 net_cookie;
};

struct task_struct___tune {
	int tgid;
};

#pragma clang attribute pop

/* include/uapi/linux/tcp.h, include/uapi/asm-generic/socket.h, include/uapi/linux/bpf.h */
#define SOL_SOCKET 1
#define SOL_TCP 6
#define SO_SNDBUF 7
#define SO_RCVBUF 8
#define SO_MAX_PACING_RATE 47
#define TCP_WINDOW_CLAMP 10
#define TCP_CONGESTION 13
#define TCP_NOTSENT_LOWAT 25
#define TCP_RTO_MAX_MS 44
#define TCP_BPF_IW 1001
#define TCP_BPF_SNDCWND_CLAMP 1002
#define TCP_BPF_DELACK_MAX 1003
#define TCP_BPF_RTO_MIN 1004

#define EOPNOTSUPP 95
#define ENOSPC 28

#define SOCK_BUF_LOCK_MASK 3
#define INT_MAX 0x7fffffff
#define LARGEST_WINDOW (0xffffu << 14) /* without a clamp: include/net/tcp.h, TCP_MAX_WSCALE */

/* Whether an option is behind the setting, and which. */
static __always_inline int option_of(u32 x)
{
	switch (x) {
	case TUNE_CLAMP:
		return TCP_BPF_SNDCWND_CLAMP;
	case TUNE_INITIAL_WINDOW:
		return TCP_BPF_IW;
	case TUNE_PACING:
		return SO_MAX_PACING_RATE;
	case TUNE_SNDBUF:
		return SO_SNDBUF;
	case TUNE_RCVBUF:
		return SO_RCVBUF;
	case TUNE_NOTSENT_LOWAT:
		return TCP_NOTSENT_LOWAT;
	case TUNE_WINDOW_CLAMP:
		return TCP_WINDOW_CLAMP;
	case TUNE_RTO_MIN:
		return TCP_BPF_RTO_MIN;
	case TUNE_RTO_MAX:
		return TCP_RTO_MAX_MS;
	case TUNE_DELACK_MAX:
		return TCP_BPF_DELACK_MAX;
	}
	return 0;
}

/* The value of the option that restores a value which the kernel kept. */
static __always_inline s32 option_for(u32 x, s64 kept, u32 tick_us)
{
	switch (x) {
	case TUNE_CLAMP: /* unlimited is ~0, which the option does not take */
		return kept > INT_MAX || kept <= 0 ? INT_MAX : kept;
	case TUNE_SNDBUF:
	case TUNE_RCVBUF:
		return (u64)kept / 2;
	case TUNE_WINDOW_CLAMP: /* 0 is taken of unconnected sockets only */
		return kept ? kept : LARGEST_WINDOW;
	case TUNE_RTO_MIN:
	case TUNE_DELACK_MAX:
		return kept * tick_us;
	case TUNE_RTO_MAX:
		return (u64)kept * tick_us / 1000;
	}
	return kept; /* an unlimited pacing rate is ~0 in 32 bits too */
}

#define set_option(target, x, value)                                                                                   \
	({                                                                                                             \
		s32 __value = (value);                                                                                 \
		int __level = (x) >= TUNE_PACING && (x) <= TUNE_RCVBUF ? SOL_SOCKET : SOL_TCP;                         \
		bpf_setsockopt(target, __level, option_of(x), &__value, sizeof(__value));                              \
	})

static __always_inline void cc_name_of(struct tcp_sock *tp, char name[16])
{
	const struct tcp_congestion_ops *ops = tp->inet_conn.icsk_ca_ops;

	__builtin_memset(name, 0, 16);
	if (ops)
		bpf_probe_read_kernel_str(name, 16, &ops->name);
}

static __always_inline bool same_name(const char a[16], const char b[16])
{
	for (int i = 0; i < 16; i++) {
		if (a[i] != b[i])
			return false;
		if (!a[i])
			return true;
	}
	return true;
}

/* The bounds of a socket that runs cubic_bound; false when it runs another. */
static __always_inline bool bounds_of(const struct tune_name *cc, u64 cookie, struct tune_bounds *b)
{
	void *sockets = bpf_map_lookup_elem(&bounds_by_name, cc);
	struct tune_bounds *found;

	b->lower = 0;
	b->upper = 0;
	if (!sockets)
		return false;
	found = bpf_map_lookup_elem(sockets, &cookie);
	if (found)
		*b = *found;
	return true;
}

static __always_inline int set_bounds(const struct tune_name *cc, u64 cookie, const struct tune_bounds *b)
{
	void *sockets = bpf_map_lookup_elem(&bounds_by_name, cc), *changed = bpf_map_lookup_elem(&changed_by_name, cc);
	u64 now = bpf_ktime_get_ns();
	u32 zero = 0;
	int err = 0;

	if (!sockets || !changed)
		return -EOPNOTSUPP;
	if (b->lower || b->upper)
		err = bpf_map_update_elem(sockets, &cookie, b, 0);
	else
		bpf_map_delete_elem(sockets, &cookie);
	if (err)
		return err;
	return bpf_map_update_elem(changed, &zero, &now, 0);
}

/* Reads the settings; -1 is one that the kernel does not have. */
static __always_inline void read_all(struct tcp_sock *tp, u64 cookie, const struct tune_name *cc, s64 v[TUNE_SETTINGS])
{
	struct inet_connection_sock___tune *icsk = (void *)tp;
	struct tcp_sock___tune *tt = (void *)tp;
	struct sock___tune *st = (void *)tp;
	struct sock___locks *sl = (void *)tp;
	struct tune_bounds b;

	bounds_of(cc, cookie, &b);
	v[TUNE_UPPER] = b.upper;
	v[TUNE_LOWER] = b.lower;
	v[TUNE_CLAMP] = tt->snd_cwnd_clamp;
	v[TUNE_INITIAL_WINDOW] = tp->snd_cwnd;
	v[TUNE_PACING] = st->sk_max_pacing_rate;
	v[TUNE_SNDBUF] = SK(tp).sk_sndbuf;
	v[TUNE_RCVBUF] = SK(tp).sk_rcvbuf;
	v[TUNE_LOCKS] = BPF_CORE_READ_BITFIELD(sl, sk_userlocks) & SOCK_BUF_LOCK_MASK;
	v[TUNE_NOTSENT_LOWAT] = tt->notsent_lowat;
	v[TUNE_WINDOW_CLAMP] = tt->window_clamp;
	v[TUNE_RTO_MIN] = icsk->icsk_rto_min;
	v[TUNE_RTO_MAX] = -1;
	if (bpf_core_field_exists(icsk->icsk_rto_max))
		v[TUNE_RTO_MAX] = icsk->icsk_rto_max;
	v[TUNE_DELACK_MAX] = icsk->icsk_delack_max;
}

static __always_inline struct tune_slot *slot_of(struct tuned *t, u64 session)
{
	for (int i = 0; i < TUNE_SLOTS; i++)
		if (t->slots[i].session == session)
			return &t->slots[i];
	return NULL;
}

/* The tune that has set the same after this one: the next in order. */
static __always_inline struct tune_slot *next_after(struct tuned *t, const struct tune_slot *s, u32 bit)
{
	struct tune_slot *next = NULL;

	for (int i = 0; i < TUNE_SLOTS; i++) {
		struct tune_slot *other = &t->slots[i];

		if (!other->session || !(other->mask & bit) || other->order <= s->order)
			continue;
		if (!next || other->order < next->order)
			next = other;
	}
	return next;
}

#endif
