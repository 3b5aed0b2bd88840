/* SPDX-License-Identifier: GPL-2.0 */
/* A CUBIC without further parts, as a whole congestion control. A program defines CC_NAME,
 * CC_KIND and CC_FORM before it includes this file. */
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
	.name = CC_NAME,
	.release = (void *)cc_release,
};
