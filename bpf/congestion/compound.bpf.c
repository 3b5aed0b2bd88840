// SPDX-License-Identifier: GPL-2.0
/* Compound TCP: see cc_compound.h. */
#include "compound.h"
#include "parameters.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct cc_parameters parameters SEC(".rodata.airtide") = {
	.magic = CC_MAGIC,
	.kind = CC_KIND_COMPOUND,
	.hz = 1000,
	.gamma = 30 * CC_PACKET,
	.gamma_low = 5 * CC_PACKET,
	.gamma_high = 30 * CC_PACKET,
	.lambda = 64,
	.low_window = 38,
};

_Static_assert(sizeof(struct cc_compound) <= 13 * sizeof(u64), "the private state does not fit into icsk_ca_priv");

CC_INLINE struct cc_compound_law compound_law(void)
{
	struct cc_compound_law law = {
		.gamma = parameters.gamma,
		.gamma_low = parameters.gamma_low,
		.gamma_high = parameters.gamma_high,
		.lambda = parameters.lambda,
		.low_window = parameters.low_window,
	};

	return law;
}

SEC("struct_ops")
void BPF_PROG(cc_init, struct sock *sk)
{
	struct cc_compound *ca = inet_csk_ca(sk);

	cc_begin_use();
	ca->delay_part = ca->prior_delay_part = 0;
	ca->gamma = parameters.gamma;
	ca->diff_reno = COMPOUND_UNKNOWN;
	ca->base_rtt = 0;
	ca->open = ca->in_use = 1;
	cc_compound_new_round(ca, tcp_sk(sk)->snd_nxt);
}

SEC("struct_ops")
void BPF_PROG(cc_release, struct sock *sk)
{
	struct cc_compound *ca = inet_csk_ca(sk);

	if (ca->in_use)
		cc_end_use();
	ca->in_use = 0;
}

SEC("struct_ops")
void BPF_PROG(cc_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct cc_compound *ca = inet_csk_ca(sk);

	/* After a long idle time the kernel takes back the window: what is left is Reno's. */
	if (event == CA_EVENT_CWND_RESTART)
		ca->delay_part = 0;
}

SEC("struct_ops")
void BPF_PROG(cc_set_state, struct sock *sk, u8 new_state)
{
	struct cc_compound *ca = inet_csk_ca(sk);
	struct cc_compound_law law = compound_law();

	if (new_state == TCP_CA_Loss)
		cc_compound_timeout(ca, &law, tcp_sk(sk)->srtt_us >> 3);
	ca->open = new_state == TCP_CA_Open;
	cc_compound_new_round(ca, tcp_sk(sk)->snd_nxt);
}

SEC("struct_ops")
void BPF_PROG(cc_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	s32 rtt = sample->rtt_us;

	if (rtt >= 0)
		cc_compound_sample(inet_csk_ca(sk), rtt ? rtt : 1);
}

SEC("struct_ops")
void BPF_PROG(cc_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cc_compound *ca = inet_csk_ca(sk);
	struct cc_compound_law law = compound_law();
	int limited = tcp_is_cwnd_limited(tp);

	if (after(ack, ca->round_end)) {
		/* A window that was not used says nothing about the path. */
		if (limited)
			tp->snd_cwnd = cc_compound_round(ca, &law, tp->snd_cwnd, tcp_in_slow_start(tp));
		cc_compound_new_round(ca, tp->snd_nxt);
	}
	if (!limited)
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

SEC("struct_ops")
u32 BPF_PROG(cc_ssthresh, struct sock *sk)
{
	struct cc_compound_law law = compound_law();

	return cc_compound_decrease(inet_csk_ca(sk), &law, tcp_sk(sk)->snd_cwnd);
}

SEC("struct_ops")
u32 BPF_PROG(cc_undo_cwnd, struct sock *sk)
{
	struct cc_compound *ca = inet_csk_ca(sk);

	ca->delay_part = ca->prior_delay_part;
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops congestion_ops = {
	CC_HOOKS,
	.name = "compound",
	.release = (void *)cc_release,
};
