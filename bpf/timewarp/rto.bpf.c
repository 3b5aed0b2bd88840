// SPDX-License-Identifier: GPL-2.0
/* TCP's initial retransmission timeout in warped time. The module timewarp (kmod/timewarp/tcp.c)
 * keeps its present length in a structure, so it follows each change of N. Without the module,
 * reading fails or finds another magic, and the kernel's own value holds. */
#include "integers.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

#define BPF_SOCK_OPS_TIMEOUT_INIT 1 /* include/uapi/linux/bpf.h */
#define INITIAL_RTO_MAGIC 0x6f74722065646974ULL

struct initial_rto {
	u64 magic;
	u32 ticks; /* 0: the kernel's own */
	u32 unused;
};

const volatile u64 initial_rto_at; /* the address in the module */

/* include/uapi/linux/bpf.h; only the beginning is needed. */
struct bpf_sock_ops {
	u32 op;
	u32 reply;
};

SEC("sockops")
int timewarp_rto(struct bpf_sock_ops *ctx)
{
	struct initial_rto rto;

	if (ctx->op != BPF_SOCK_OPS_TIMEOUT_INIT)
		return 1;
	if (bpf_probe_read_kernel(&rto, sizeof(rto), (void *)initial_rto_at))
		return 1;
	if (rto.magic == INITIAL_RTO_MAGIC && rto.ticks)
		ctx->reply = rto.ticks;
	return 1;
}
