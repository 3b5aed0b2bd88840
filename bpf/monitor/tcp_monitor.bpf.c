// SPDX-License-Identifier: GPL-2.0
/* Samples and events of TCP connections, per ACK. docs/reference/fields.md says how each event
 * is recognised.
 *
 * Each hook comes twice: as tp_btf, where fields are read through typed pointers, and as raw_tp
 * for kernels that refuse tp_btf, where the whole tcp_sock is first copied into scratch memory
 * and the same code reads the copy. tcp_probe, which runs at each ACK, comes a third time, for
 * kernels that can do with fewer checks. */
#include "kernel.h"
#include "skb.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "record.h"
#include "drop.h"
#include "hook.h"

#ifndef __arg_trusted
#define __arg_trusted __attribute__((btf_decl_tag("arg:trusted")))
#endif

char LICENSE[] SEC("license") = "GPL";

/* Whether tcp_retransmit_skb passes the result of the transmission as a third argument. */
volatile const bool mon_retransmit_has_result;

/* --- tp_btf ------------------------------------------------------------------------------- */

/* The same pointer with the type of a TCP socket. bpf_rdonly_cast saves a call where the kernel has
 * it. */
static __always_inline struct tcp_sock *tcp_sock_of(struct sock *sk)
{
	if (bpf_rdonly_cast)
		return bpf_rdonly_cast(sk, bpf_core_type_id_kernel(struct tcp_sock));
	return bpf_skc_to_tcp_sock(sk);
}

static __always_inline void on_typed_segment(const struct sock *sk, struct tcp_sock *tp, const struct sk_buff *skb)
{
	struct arrival a = {
		.header = skb->head + skb->transport_header,
		.cb = (const struct tcp_skb_cb *)&skb->cb,
		.len = skb->len,
		.typed = true,
	};

	if (mon_with & WITH_MERGES)
		a.shared = (const struct skb_shared_info *)(skb->head + skb->end);
	mon_enter();
	on_segment((u64)sk, sk, tp, &a);
	mon_leave();
}

/* The kernel guards each load through a pointer that came of a cast or a helper with a check of
 * the address, eight instructions in place of one, and there are some eighty for an ACK. A
 * global function is verified by itself, with arguments that are trusted as declared (Linux
 * 6.9), and a helper's pointer may be passed to it. */
__noinline int on_trusted_segment(struct tcp_sock *tp __arg_trusted, struct sk_buff *skb __arg_trusted)
{
	on_typed_segment(&SK(tp), tp, skb);
	return 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(trusted_tcp_probe, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_sock *tp;

	if (netns_excluded(sk))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	return tp ? on_trusted_segment(tp, skb) : 0;
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(btf_tcp_probe, struct sock *sk, const struct sk_buff *skb)
{
	struct tcp_sock *tp;

	if (netns_excluded(sk))
		return 0;
	tp = tcp_sock_of(sk);
	if (tp)
		on_typed_segment(sk, tp, skb);
	return 0;
}

SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(btf_tcp_cong_state_set, struct sock *sk, const u8 ca_state)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	if (tp) {
		mon_enter();
		on_ca_state((u64)sk, tp, ca_state);
		mon_leave();
	}
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(btf_tcp_retransmit_skb, const struct sock *sk, const struct sk_buff *skb)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock((void *)sk);

	if (tp) {
		mon_enter();
		on_retransmit((u64)sk, tp, skb, mon_retransmit_has_result ? (int)ctx[2] : 0);
		mon_leave();
	}
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(btf_inet_sock_set_state, const struct sock *sk, const int oldstate, const int newstate)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock((void *)sk);

	if (tp) {
		mon_enter();
		on_state((u64)sk, tp, oldstate, newstate);
		mon_leave();
	}
	return 0;
}

SEC("tp_btf/tcp_destroy_sock")
int BPF_PROG(btf_tcp_destroy_sock, struct sock *sk)
{
	struct tcp_sock *tp;

	if (closes_late((u64)sk)) {
		tp = bpf_skc_to_tcp_sock(sk);
		if (tp) {
			mon_enter();
			on_late_close((u64)sk, tp);
			mon_leave();
		}
	}
	delete_flow((u64)sk); /* the socket's memory may become another socket */
	return 0;
}

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(btf_tcp_receive_reset, struct sock *sk)
{
	on_reset((u64)sk, REASON_RESET_RECEIVED);
	return 0;
}

SEC("tp_btf/tcp_send_reset")
int BPF_PROG(btf_tcp_send_reset, const struct sock *sk)
{
	on_reset((u64)sk, REASON_RESET_SENT);
	return 0;
}

SEC("tp_btf/tcp_rcv_space_adjust")
int BPF_PROG(btf_tcp_rcv_space_adjust, struct sock *sk)
{
	struct tcp_sock *tp;

	if (netns_excluded(sk) || !wants_owner((u64)sk))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (tp) {
		mon_enter();
		observe((u64)sk, tp, true);
		mon_leave();
	}
	return 0;
}

/* Walks the sockets of one network namespace (of the process that opens the iterator), so that
 * connections which are idle are known from the start. A socket that a hook sees at the same
 * time is announced once: the table decides. */
SEC("iter/tcp")
int walk_sockets(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp;
	u8 state;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	state = COMMON(tp).skc_state;
	if (state == TCP_LISTEN || state == TCP_CLOSE || state == TCP_TIME_WAIT || state == TCP_SYN_RECV)
		return 0;
	mon_enter();
	observe((u64)skc, tp, false);
	mon_leave();
	return 0;
}

/* --- raw_tp ------------------------------------------------------------------------------- */

#define SCRATCH_BYTES 4096

struct scratch {
	u8 bytes[SCRATCH_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RING_LEVELS);
	__type(key, u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* Returns a copy of the tcp_sock; NULL if it is no TCP socket. mon_leave() follows a success. */
static __always_inline struct tcp_sock *enter_with_copy(const struct sock *sk)
{
	struct scratch *scratch;
	u16 protocol = 0;
	u32 level;

	if (!sk)
		return NULL;
	read_field(protocol, sk->sk_protocol);
	if (protocol != IPPROTO_TCP) /* also not IPPROTO_MPTCP, whose socket is no tcp_sock */
		return NULL;
	level = mon_enter();
	scratch = bpf_map_lookup_elem(&scratches, &level);
	if (scratch && !bpf_probe_read_kernel(scratch->bytes, bpf_core_type_size(struct tcp_sock), sk))
		return (struct tcp_sock *)scratch->bytes;
	mon_leave();
	return NULL;
}

SEC("raw_tp/tcp_probe")
int raw_tcp_probe(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct sk_buff *skb = (struct sk_buff *)ctx->args[1];
	struct tcp_sock *tp;
	struct arrival a = {.cb = (const struct tcp_skb_cb *)&skb->cb};
	unsigned char *head = NULL;
	unsigned int end = 0;
	u16 offset = 0;

	if (copied_netns_excluded(sk))
		return 0;
	tp = enter_with_copy(sk);
	if (!tp)
		return 0;
	read_field(head, skb->head);
	read_field(offset, skb->transport_header);
	read_field(a.len, skb->len);
	a.header = head + offset;
	if (mon_with & WITH_MERGES) {
		read_field(end, skb->end);
		a.shared = (const struct skb_shared_info *)(head + end);
	}
	on_segment((u64)sk, &SK(tp), tp, &a);
	mon_leave();
	return 0;
}

SEC("raw_tp/tcp_cong_state_set")
int raw_tcp_cong_state_set(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct tcp_sock *tp = enter_with_copy(sk);

	if (!tp)
		return 0;
	on_ca_state((u64)sk, tp, ctx->args[1]);
	mon_leave();
	return 0;
}

SEC("raw_tp/tcp_retransmit_skb")
int raw_tcp_retransmit_skb(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct tcp_sock *tp = enter_with_copy(sk);

	if (!tp)
		return 0;
	on_retransmit((u64)sk, tp, (const struct sk_buff *)ctx->args[1],
		      mon_retransmit_has_result ? (int)ctx->args[2] : 0);
	mon_leave();
	return 0;
}

SEC("raw_tp/inet_sock_set_state")
int raw_inet_sock_set_state(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct tcp_sock *tp = enter_with_copy(sk);

	if (!tp)
		return 0;
	on_state((u64)sk, tp, ctx->args[1], ctx->args[2]);
	mon_leave();
	return 0;
}

SEC("raw_tp/tcp_destroy_sock")
int raw_tcp_destroy_sock(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct tcp_sock *tp;

	if (closes_late((u64)sk)) {
		tp = enter_with_copy(sk);
		if (tp) {
			on_late_close((u64)sk, tp);
			mon_leave();
		}
	}
	delete_flow((u64)sk); /* the socket's memory may become another socket */
	return 0;
}

SEC("raw_tp/tcp_receive_reset")
int raw_tcp_receive_reset(struct bpf_raw_tracepoint_args *ctx)
{
	on_reset(ctx->args[0], REASON_RESET_RECEIVED);
	return 0;
}

SEC("raw_tp/tcp_send_reset")
int raw_tcp_send_reset(struct bpf_raw_tracepoint_args *ctx)
{
	on_reset(ctx->args[0], REASON_RESET_SENT);
	return 0;
}

SEC("raw_tp/tcp_rcv_space_adjust")
int raw_tcp_rcv_space_adjust(struct bpf_raw_tracepoint_args *ctx)
{
	struct sock *sk = (struct sock *)ctx->args[0];
	struct tcp_sock *tp;

	if (copied_netns_excluded(sk) || !wants_owner((u64)sk))
		return 0;
	tp = enter_with_copy(sk);
	if (!tp)
		return 0;
	observe((u64)sk, tp, true);
	mon_leave();
	return 0;
}

/* --- on demand ---------------------------------------------------------------------------- */

/* These read all by copies, so one kind of program does. */

/* Whether kfree_skb passes the reason as a third argument. */
volatile const bool mon_drop_has_reason;

SEC("raw_tp/kfree_skb")
int more_kfree_skb(struct bpf_raw_tracepoint_args *ctx)
{
	on_drop((const struct sk_buff *)ctx->args[0], mon_drop_has_reason ? (u32)ctx->args[2] : 0);
	return 0;
}

SEC("raw_tp/net_dev_start_xmit")
int more_net_dev_start_xmit(struct bpf_raw_tracepoint_args *ctx)
{
	on_device((const struct sk_buff *)ctx->args[0]);
	return 0;
}

SEC("raw_tp/tcp_retransmit_synack")
int more_tcp_retransmit_synack(struct bpf_raw_tracepoint_args *ctx)
{
	const struct sock *listener = (const struct sock *)ctx->args[0];
	struct tcp_sock *tp;
	bool counts = false;

	/* A handshake has no owner yet. */
	if (!filter_pids_n && !filter_comms_n && !copied_netns_excluded(listener)) {
		tp = enter_with_copy(listener);
		if (tp) {
			counts = cgroup_passes(cgroup_pointer(tp));
			mon_leave();
		}
	}
	on_synack((const struct request_sock *)ctx->args[1], counts);
	return 0;
}

/* tcp_probe runs in the state ESTABLISHED alone. Of a connection that one end has closed, samples
 * come from the reads and writes of the process. */
static __always_inline int half_closed(const struct sock *sk)
{
	u64 key = (u64)sk, now;
	struct flow_state *fs;
	struct tcp_sock *tp;
	u8 state = 0;

	/* First of all: most calls are for connections that no end has closed. */
	load_field(state, struct sock_common, sk, skc_state);
	if (state == TCP_ESTABLISHED)
		return 0;
	fs = bpf_map_lookup_elem(&flows, &key);
	if (!fs || fs->verdict != VERDICT_ACCEPT)
		return 0;
	tp = enter_with_copy(sk);
	if (!tp)
		return 0;
	now = bpf_ktime_get_ns();
	socket_differences(fs, tp);
	if (dense_enough(fs, tp, now))
		sample(fs, &SK(tp), tp, NULL, state, now);
	mon_leave();
	return 0;
}

SEC("raw_tp/tcp_rcv_space_adjust")
int more_tcp_rcv_space_adjust(struct bpf_raw_tracepoint_args *ctx)
{
	return half_closed((const struct sock *)ctx->args[0]);
}

SEC("raw_tp/tcp_sendmsg_locked")
int more_tcp_sendmsg_locked(struct bpf_raw_tracepoint_args *ctx)
{
	return half_closed((const struct sock *)ctx->args[0]);
}

/* Counts bytes of this host's sockets. A packet passes once, in whatever network namespace. */
static __always_inline void count_bytes(const struct __sk_buff *skb)
{
	u32 bytes = COUNTER_IP_BYTES, quic = COUNTER_UDP_443_BYTES, offset = sizeof(struct ip6_header);
	u64 *n = bpf_map_lookup_elem(&counters, &bytes);
	const u8 *data = (const u8 *)(long)skb->data, *end = (const u8 *)(long)skb->data_end;
	bool v4 = skb->protocol == bpf_htons(ETH_P_IP);
	u8 protocol = 0, words = 0;
	__be16 ports[2] = {};

	if (n)
		*n += skb->len;
	/* Most packets are of TCP, and have their header here. */
	if (data + 20 <= end)
		protocol = v4 ? data[9] : data[6];
	else
		bpf_skb_load_bytes(skb, v4 ? 9 : 6, &protocol, 1);
	if (protocol != IPPROTO_UDP)
		return;
	if (v4) {
		if (bpf_skb_load_bytes(skb, 0, &words, 1))
			return;
		offset = (words & 15) * 4;
	}
	if (bpf_skb_load_bytes(skb, offset, ports, sizeof(ports)))
		return;
	if (ports[0] != bpf_htons(443) && ports[1] != bpf_htons(443))
		return;
	n = bpf_map_lookup_elem(&counters, &quic);
	if (n)
		*n += skb->len;
}

SEC("cgroup_skb/ingress")
int more_received(struct __sk_buff *skb)
{
	count_bytes(skb);
	return 1;
}

SEC("cgroup_skb/egress")
int more_sent(struct __sk_buff *skb)
{
	count_bytes(skb);
	return 1;
}

/* Ticks of the kernel's timer, low 32 bits: run twice by user space to learn HZ. */
SEC("raw_tp/tcp_probe")
int jiffies_now(void *ctx)
{
	return (int)bpf_jiffies64();
}

/* Keeps the types in the BTF, from which the Go types and constants are generated. */
const struct sample_record *unused_sample_record __attribute__((unused));
const enum mon_ring_limits *unused_ring_limits __attribute__((unused));
const struct ring_control *unused_ring_control __attribute__((unused));
const struct flow_record *unused_flow_record __attribute__((unused));
const struct owner *unused_owner __attribute__((unused));
const struct event_record *unused_event_record __attribute__((unused));
const enum mon_record_kind *unused_record_kind __attribute__((unused));
const enum mon_sample_flags *unused_sample_flags __attribute__((unused));
const enum mon_flow_flags *unused_flow_flags __attribute__((unused));
const enum mon_event_kind *unused_event_kind __attribute__((unused));
const enum mon_cause *unused_cause __attribute__((unused));
const enum mon_reason *unused_reason __attribute__((unused));
const struct drop_record *unused_drop_record __attribute__((unused));
const enum mon_with_parts *unused_with __attribute__((unused));
const enum mon_more_flags *unused_more_flags __attribute__((unused));
const enum mon_counter *unused_counter __attribute__((unused));
