/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of the kernel that congestion controls use. Unlike the monitor's kernel.h it
 * describes struct tcp_congestion_ops as what is filled in, and sockets as what is written to;
 * the kernel lets a congestion control write snd_cwnd, snd_cwnd_cnt, snd_ssthresh and its
 * private memory. Offsets come from the running kernel's BTF (CO-RE). */
#ifndef AIRTIDE_CC_KERNEL_H
#define AIRTIDE_CC_KERNEL_H

#include "ca_state.h"
#include "types.h"
#include "map.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	s64 counter;
} atomic64_t;

struct sock_common {
	atomic64_t skc_cookie;
};

/* include/net/sock.h */
enum sk_pacing {
	SK_PACING_NONE = 0,
	SK_PACING_NEEDED = 1,
};

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
	u32 sk_pacing_status;
	unsigned int sk_gso_max_size;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u64 icsk_ca_priv[13];
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_ssthresh;
	u32 snd_una;
	u32 snd_nxt;
	u32 srtt_us; /* 1/8 us */
	u32 lsndtime;
	u32 max_packets_out;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u64 tcp_mstamp;
	u8 is_cwnd_limited : 1;
};

/* Of one ACK. */
struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

#pragma clang attribute pop

/* include/net/tcp.h */
enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
};

/* include/net/tcp.h: slow start has not ended yet. */
#define TCP_INFINITE_SSTHRESH 0x7fffffff

/* Of tcp_congestion_ops.flags: every process may choose it, and a namespace may make it its
 * default. */
#define TCP_CONG_NON_RESTRICTED 1

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	/* Where it is (7.2 has it), CA_EVENT_TX_START comes here and not to cwnd_event; elsewhere it
	 * is left out. */
	void (*cwnd_event_tx_start)(struct sock *sk);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

/* The hooks of each congestion control, under the same names in each program. The table adds its
 * own name. */
#define CC_HOOKS                                                                                                       \
	.ssthresh = (void *)cc_ssthresh, .cong_avoid = (void *)cc_cong_avoid, .set_state = (void *)cc_set_state,       \
	.cwnd_event = (void *)cc_cwnd_event, .pkts_acked = (void *)cc_pkts_acked, .undo_cwnd = (void *)cc_undo_cwnd,   \
	.init = (void *)cc_init, .flags = TCP_CONG_NON_RESTRICTED

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) __ksym;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

CC_INLINE struct tcp_sock *tcp_sk(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

CC_INLINE void *inet_csk_ca(struct sock *sk)
{
	return ((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

CC_INLINE u32 jiffies32(void)
{
	return bpf_jiffies64();
}

/* Is sequence number a behind b? */
CC_INLINE int after(u32 a, u32 b)
{
	return (s32)(b - a) < 0;
}

CC_INLINE int tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tp->snd_cwnd < tp->snd_ssthresh;
}

/* tcp_packets_in_flight of include/net/tcp.h. */
CC_INLINE u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* tcp_is_cwnd_limited of include/net/tcp.h: whether the window limits the sender. */
CC_INLINE int tcp_is_cwnd_limited(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tcp_in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out;
}

#endif
