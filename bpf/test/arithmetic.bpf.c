// SPDX-License-Identifier: GPL-2.0
/* The congestion controls' arithmetic, asked by tests: what the kernel computes, not what the
 * compiler of the host does. */
#include "tcp_congestion.h"
#include "arithmetic_cases.h"

char LICENSE[] SEC("license") = "GPL";

#define CASES 1024

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CASES);
	__type(key, u32);
	__type(value, struct cc_case);
} cases SEC(".maps");

u32 asked; /* how many of the cases are to be answered */

static long answer(u32 i, void *unused)
{
	struct cc_case *q = bpf_map_lookup_elem(&cases, &i);

	if (q)
		q->answer = cc_ask(q);
	return 0;
}

SEC("syscall")
int answer_all(void *ctx)
{
	return bpf_loop(asked, answer, (void *)0, 0) != asked;
}
