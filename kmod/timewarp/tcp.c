// SPDX-License-Identifier: GPL-2.0
/* TCP's retransmission timeout (RTO) in warped time.
 *
 * A round trip takes N times as long by the clock, and so do the smoothed RTT and its variance
 * that TCP makes of it. What does not follow are the bounds of the RTO: 200 ms at least, 1 s
 * before the first sample. By the clock they pass N times too soon. There are two ways to mend
 * that:
 *
 *   bounds  RTO = srtt + max(rttvar, N * minimum): in real time what it is at N = 1
 *   paper   RTO = N * (srtt + max(rttvar, minimum)), as Onozato et al. changed __tcp_set_rto:
 *           srtt and rttvar, which have grown by N already, grow by N again
 *
 * Both give the initial RTO to a BPF program, since the kernel asks for it there alone
 * (BPF_SOCK_OPS_TIMEOUT_INIT).
 *
 * Nothing lasting is written into a socket. bounds raises the variance, which TCP lets decay
 * with each round trip, when a segment comes, before TCP looks at it; paper rewrites the RTO,
 * which TCP computes anew at each sample. So sockets heal by themselves when the hooks are gone,
 * as their srtt does.
 *
 * All hooks run under the socket's lock, which is what guards these members. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/version.h>
#include <net/tcp.h>

#include "timewarp.h"

#ifndef CONFIG_KRETPROBES
#error "timewarp needs a kernel with CONFIG_KRETPROBES=y"
#endif

/* What bpf/timewarp/rto.bpf.c reads at an address that user space tells it. */
struct initial_rto initial_rto = {.magic = INITIAL_RTO_MAGIC};

/* N in one word, so that hooks see both terms of the same N: num << 32 | den. */
static u64 stretch = 1ULL << 32 | 1;
static enum rto_mode hooked; /* guarded by the lock of changes, as all that is not a hook */

/* N * value, and at most what an RTO may be. */
static u32 stretched(u32 value, u32 most)
{
	u64 n = READ_ONCE(stretch);

	return min_t(u64, div_u64(value * (n >> 32), (u32)n), most);
}

static void raise_variance(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 least = stretched(tcp_rto_min_us(sk), jiffies_to_usecs(TCP_RTO_MAX));

	tp->mdev_max_us = max(tp->mdev_max_us, least);
	tp->rttvar_us = max(tp->rttvar_us, least);
}

/* A segment has come to an established connection, and TCP has not looked at it yet. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
static void on_segment(void *unused, struct sock *sk, struct sk_buff *skb)
#else
static void on_segment(void *unused, struct sock *sk, const struct sk_buff *skb)
#endif
{
	raise_variance(sk);
}

/* What a function was called with is noted for when it returns. */
static int note_socket(struct kretprobe_instance *call, struct pt_regs *regs)
{
	*(struct sock **)call->data = (struct sock *)regs_get_kernel_argument(regs, 0);
	return 0;
}

/* tcp_init_metrics ends a handshake: the RTO follows from the handshake's RTT or from one that
 * the peer had earlier, or is 3 s when neither is there. */
static int after_init_metrics(struct kretprobe_instance *call, struct pt_regs *regs)
{
	struct sock *sk = *(struct sock **)call->data;
	struct inet_connection_sock *icsk = inet_csk(sk);
	u32 least;

	raise_variance(sk);
	least = tcp_sk(sk)->srtt_us ? __tcp_set_rto(tcp_sk(sk)) : stretched(icsk->icsk_rto, TCP_RTO_MAX);
	icsk->icsk_rto = clamp_t(u32, least, icsk->icsk_rto, TCP_RTO_MAX);
	return 0;
}

/* tcp_ack_update_rtt has made an RTO of a sample, or had none. While timeouts make it longer
 * there is no sample. */
static int after_update_rtt(struct kretprobe_instance *call, struct pt_regs *regs)
{
	struct sock *sk = *(struct sock **)call->data;

	if (tcp_sk(sk)->srtt_us && !inet_csk(sk)->icsk_backoff)
		inet_csk(sk)->icsk_rto = stretched(__tcp_set_rto(tcp_sk(sk)), TCP_RTO_MAX);
	return 0;
}

static struct tracepoint *segment;
static struct kretprobe probe;

static void look_for_segment(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "tcp_probe"))
		segment = tp;
}

static int hook_return(const char *function, kretprobe_handler_t handler)
{
	probe = (struct kretprobe){
		.kp.symbol_name = function,
		.entry_handler = note_socket,
		.handler = handler,
		.data_size = sizeof(struct sock *),
		.maxactive = max_t(int, 64, 4 * num_possible_cpus()),
	};
	return register_kretprobe(&probe);
}

static int hook_bounds(void)
{
	int err;

	for_each_kernel_tracepoint(look_for_segment, NULL);
	err = segment ? tracepoint_probe_register(segment, on_segment, NULL) : -ENOENT;
	if (err) {
		pr_err("rto bounds: no tracepoint tcp_probe (%d)\n", err);
		return -EOPNOTSUPP;
	}
	err = hook_return("tcp_init_metrics", after_init_metrics);
	if (err) {
		pr_err("rto bounds: tcp_init_metrics cannot be followed (%d)\n", err);
		tracepoint_probe_unregister(segment, on_segment, NULL);
		tracepoint_synchronize_unregister();
		return -EOPNOTSUPP;
	}
	return 0;
}

/* The compiler may have made a function of fewer arguments of it, the first still being the
 * socket. */
static int hook_paper(void)
{
	static const char *const names[] = {"tcp_ack_update_rtt", "tcp_ack_update_rtt.isra.0",
					    "tcp_ack_update_rtt.constprop.0"};
	int err = -ENOENT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names) && err; i++)
		err = hook_return(names[i], after_update_rtt);
	if (!err)
		return 0;
	pr_err("rto paper: the compiler left no function tcp_ack_update_rtt in this kernel (%d)\n", err);
	return -EOPNOTSUPP;
}

static int hook(enum rto_mode mode)
{
	int err = 0;

	if (mode == RTO_BOUNDS)
		err = hook_bounds();
	if (mode == RTO_PAPER)
		err = hook_paper();
	if (!err)
		hooked = mode;
	return err;
}

/* No hook runs any more when it returns. */
static void unhook(void)
{
	if (hooked == RTO_NONE)
		return;
	unregister_kretprobe(&probe);
	if (hooked == RTO_BOUNDS) {
		tracepoint_probe_unregister(segment, on_segment, NULL);
		tracepoint_synchronize_unregister();
	}
	hooked = RTO_NONE;
}

/* Makes the RTO follow N in a way. Up to N = 1 the kernel's own is long enough. An error, which
 * tells that this kernel lacks something, leaves it as it was; RTO_NONE and N = 1 give none. */
int warp_rto(enum rto_mode mode, struct ratio r)
{
	enum rto_mode before = hooked;
	int err;

	if (r.num <= r.den)
		mode = RTO_NONE;
	if (mode != hooked) {
		unhook();
		err = hook(mode);
		if (err) {
			hook(before);
			return err;
		}
	}
	WRITE_ONCE(stretch, (u64)r.num << 32 | r.den);
	WRITE_ONCE(initial_rto.ticks, mode == RTO_NONE ? 0 : stretched(TCP_TIMEOUT_INIT, TCP_RTO_MAX));
	return 0;
}
