// SPDX-License-Identifier: GPL-2.0
/* The kernel's CUBIC with airtide's beside it, for a test: each hook runs airtide's code on a
 * copy of the private state, then the kernel's own function on the real one, and compares. So
 * every step on real traffic is held against the kernel, from the same state, whatever time it
 * takes. */
#define CC_KIND CC_KIND_CUBIC_PLAIN
#include "cubic_hooks.h"

extern void cubictcp_init(struct sock *sk) __ksym;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) __ksym;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) __ksym;
extern void cubictcp_state(struct sock *sk, u8 new_state) __ksym;
/* A kernel has one of the two. */
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) __ksym __weak;
extern void cubictcp_cwnd_event_tx_start(struct sock *sk) __ksym __weak;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) __ksym;

#define WORDS (__builtin_offsetof(struct cc_cubic, scale) / sizeof(u32)) /* of struct bictcp */
#define WORD_CNT 0
#define WORD_K (__builtin_offsetof(struct cc_cubic, k) / sizeof(u32))

enum shadow_hook {
	SHADOW_CONG_AVOID,
	SHADOW_SSTHRESH,
	SHADOW_ACKED,
	SHADOW_STATE,
	SHADOW_EVENT,
	SHADOW_HOOKS,
};

struct shadow {
	u64 steps[SHADOW_HOOKS]; /* compared */
	u64 differ[SHADOW_HOOKS];
	u64 slow_starts_ended;
	u64 epochs; /* that began below the last maximum */
	u64 worst_k; /* of K, in 1/10000 */
	u64 split; /* not compared: a tick fell between the two */
	u32 ours[16], kernels[16]; /* the last that differed */
	enum shadow_hook differed_in;
	u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct shadow);
} shadows SEC(".maps");

CC_INLINE void copy_state(struct sock *sk, struct cc_cubic *copy)
{
	const u32 *from = inet_csk_ca(sk);
	u32 *to = (u32 *)copy, i;

#pragma unroll
	for (i = 0; i < WORDS; i++)
		to[i] = from[i];
	copy->scale = cc_scale_plain();
	copy->rtt_us = copy->rtt_round = copy->epoch_gap = 0;
}

/* Compares what is private, and a result besides. except_k leaves out K and what follows from
 * it. */
CC_INLINE void compare(struct sock *sk, const struct cc_cubic *copy, u32 ours, u32 kernels, int except_k,
		       enum shadow_hook hook)
{
	const u32 *a = (const u32 *)copy, *b = inet_csk_ca(sk);
	u32 zero = 0, i, same = ours == kernels;
	struct shadow *s = bpf_map_lookup_elem(&shadows, &zero);

	if (!s)
		return;
#pragma unroll
	for (i = 0; i < WORDS; i++) {
		if (a[i] != b[i] && !(except_k && (i == WORD_CNT || i == WORD_K)))
			same = 0;
	}
	__sync_fetch_and_add(&s->steps[hook], 1);
	if (same)
		return;
	__sync_fetch_and_add(&s->differ[hook], 1);
#pragma unroll
	for (i = 0; i < WORDS; i++) {
		s->ours[i] = a[i];
		s->kernels[i] = b[i];
	}
	s->ours[WORDS] = ours;
	s->kernels[WORDS] = kernels;
	s->differed_in = hook;
}

CC_INLINE void compare_k(struct sock *sk, const struct cc_cubic *copy)
{
	u32 zero = 0, ours = copy->k, kernels = ((struct cc_cubic *)inet_csk_ca(sk))->k;
	struct shadow *s = bpf_map_lookup_elem(&shadows, &zero);
	u64 difference = ours > kernels ? ours - kernels : kernels - ours;

	if (!s || !kernels)
		return;
	s->epochs++;
	/* One tick is rounding. */
	difference = difference > 1 ? difference * 10000 / kernels : 0;
	if (difference > s->worst_k)
		s->worst_k = difference;
}

CC_INLINE void split(void)
{
	u32 zero = 0;
	struct shadow *s = bpf_map_lookup_elem(&shadows, &zero);

	if (s)
		s->split++;
}

/* Compares when both ran in the tick in which the first began. */
CC_INLINE void compare_in_tick(u32 began, struct sock *sk, const struct cc_cubic *copy, u32 ours, u32 kernels,
			       enum shadow_hook hook)
{
	if (began == jiffies32())
		compare(sk, copy, ours, kernels, 0, hook);
	else
		split();
}

SEC("struct_ops")
void BPF_PROG(cc_init, struct sock *sk)
{
	cubictcp_init(sk);
}

SEC("struct_ops")
void BPF_PROG(cc_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct cc_cubic copy;
	u32 now = jiffies32();

	if (!cubictcp_cwnd_event)
		return;
	copy_state(sk, &copy);
	if (event == CA_EVENT_TX_START)
		cubic_tx_start(sk, &copy);
	cubictcp_cwnd_event(sk, event);
	compare_in_tick(now, sk, &copy, 0, 0, SHADOW_EVENT);
}

SEC("struct_ops")
void BPF_PROG(cc_tx_start, struct sock *sk)
{
	struct cc_cubic copy;
	u32 now = jiffies32();

	if (!cubictcp_cwnd_event_tx_start)
		return;
	copy_state(sk, &copy);
	cubic_tx_start(sk, &copy);
	cubictcp_cwnd_event_tx_start(sk);
	compare_in_tick(now, sk, &copy, 0, 0, SHADOW_EVENT);
}

SEC("struct_ops")
void BPF_PROG(cc_set_state, struct sock *sk, u8 new_state)
{
	struct cc_cubic copy;

	copy_state(sk, &copy);
	cubic_state(sk, &copy, new_state);
	cubictcp_state(sk, new_state);
	compare(sk, &copy, 0, 0, 0, SHADOW_STATE);
}

SEC("struct_ops")
void BPF_PROG(cc_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 now = jiffies32(), before = tp->snd_ssthresh, ours, zero = 0;
	struct shadow *s = bpf_map_lookup_elem(&shadows, &zero);
	struct cc_cubic copy;

	copy_state(sk, &copy);
	cubic_acked(sk, &copy, sample, 1);
	ours = tp->snd_ssthresh;
	tp->snd_ssthresh = before;
	cubictcp_acked(sk, sample);
	if (s && tp->snd_ssthresh != before)
		s->slow_starts_ended++;
	compare_in_tick(now, sk, &copy, ours, tp->snd_ssthresh, SHADOW_ACKED);
}

SEC("struct_ops")
void BPF_PROG(cc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cc_law law = cubic_law();
	u32 now = jiffies32(), left = acked, window = tp->snd_cwnd, begins = 0;
	struct cc_cubic copy;

	copy_state(sk, &copy);
	if (!tcp_is_cwnd_limited(tp))
		left = 0;
	if (left && tcp_in_slow_start(tp)) {
		u32 room = tp->snd_ssthresh - window;

		window += left < room ? left : room;
		left -= left < room ? left : room;
	}
	if (left) {
		begins = !copy.epoch_start;
		cc_cubic_update(&copy, &law, window, left, now);
	}
	cubictcp_cong_avoid(sk, ack, acked);
	if (now != jiffies32()) {
		split();
		return;
	}
	if (begins)
		compare_k(sk, &copy);
	compare(sk, &copy, 0, 0, begins, SHADOW_CONG_AVOID);
}

SEC("struct_ops")
u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	struct cc_cubic copy;
	u32 ours, kernels;

	copy_state(sk, &copy);
	ours = cubic_ssthresh(sk, &copy);
	kernels = cubictcp_recalc_ssthresh(sk);
	compare(sk, &copy, ours, kernels, 0, SHADOW_SSTHRESH);
	return kernels;
}

SEC("struct_ops")
u32 BPF_PROG(cc_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops congestion_ops = {
	CC_HOOKS,
	.cwnd_event_tx_start = (void *)cc_tx_start,
	.name = "shadow",
};
