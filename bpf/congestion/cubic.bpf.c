// SPDX-License-Identifier: GPL-2.0
/* CUBIC as the kernel has it, and with C or K scaled by the RTT. The loader sets the kind and the
 * name. The verifier removes the code of the other kinds. */
#define CC_KIND CC_KIND_CUBIC_PLAIN
#include "cubic_hooks.h"

SEC("struct_ops")
void BPF_PROG(cc_init, struct sock *sk)
{
	cubic_init(sk, inet_csk_ca(sk));
}

SEC("struct_ops")
void BPF_PROG(cc_release, struct sock *sk)
{
	cubic_release(inet_csk_ca(sk));
}

SEC("struct_ops")
void BPF_PROG(cc_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		cubic_tx_start(sk, inet_csk_ca(sk));
}

SEC("struct_ops")
void BPF_PROG(cc_tx_start, struct sock *sk)
{
	cubic_tx_start(sk, inet_csk_ca(sk));
}

SEC("struct_ops")
void BPF_PROG(cc_set_state, struct sock *sk, u8 new_state)
{
	cubic_state(sk, inet_csk_ca(sk), new_state);
}

SEC("struct_ops")
void BPF_PROG(cc_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	cubic_acked(sk, inet_csk_ca(sk), sample, 1);
}

SEC("struct_ops")
void BPF_PROG(cc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	cubic_cong_avoid(sk, inet_csk_ca(sk), acked);
}

SEC("struct_ops")
u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	return cubic_ssthresh(sk, inet_csk_ca(sk));
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
	.name = "cubic_plain",
	.release = (void *)cc_release,
};
