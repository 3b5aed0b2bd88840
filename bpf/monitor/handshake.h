/* SPDX-License-Identifier: GPL-2.0 */
/* Handshakes: their time, and SYN-ACKs that were sent again before there was a socket. */
#ifndef AIRTIDE_HANDSHAKE_H
#define AIRTIDE_HANDSHAKE_H

#include "event.h"

struct synack {
	u64 first_ns;
	u32 retransmits;
	u32 counted; /* in COUNTER_SYNACK_AGAIN */
};

/* By the addresses of the connection to come. Those that never come fall out. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct addresses);
	__type(value, struct synack);
} synacks SEC(".maps");

/* The filter lets the listener through if counts says so; its addresses are known here. */
static __always_inline void on_synack(const struct request_sock *req, bool counts)
{
	const struct sock_common *c = &req->__req_common;
	struct synack fresh = {.retransmits = 1}, *known;
	struct addresses a = {};
	u64 first_us = 0;

	read_field(a.family, c->skc_family);
	read_field(a.local_port, c->skc_num);
	read_field(a.remote_port, c->skc_dport);
	a.remote_port = bpf_ntohs(a.remote_port);
	if (a.family == AF_INET6) {
		bpf_probe_read_kernel(a.local, 16, &c->skc_v6_rcv_saddr);
		bpf_probe_read_kernel(a.remote, 16, &c->skc_v6_daddr);
	} else {
		read_field(a.local[0], c->skc_rcv_saddr);
		read_field(a.remote[0], c->skc_daddr);
	}
	known = bpf_map_lookup_elem(&synacks, &a);
	if (known) {
		known->retransmits++;
		return;
	}
	read_field(first_us, ((const struct tcp_request_sock *)req)->snt_synack);
	fresh.first_ns = first_us * 1000;
	if (counts && address_passes(&a)) {
		fresh.counted = 1;
		mon_count(COUNTER_SYNACK_AGAIN);
	}
	bpf_map_update_elem(&synacks, &a, &fresh, 0);
}

/* The handshake is over. This end began it, or has answered it: then it lasted from the first
 * SYN-ACK to the ACK of it, which is the first RTT unless it was sent again. */
static __noinline int handshake_done(struct flow_state *fs, struct tcp_sock *tp, int old)
{
	u64 began = 0, now = bpf_ktime_get_ns();
	u32 retransmits;
	struct ring_control *ring;
	struct event_record *e;
	struct addresses a = {};
	struct synack *known;

	if (!fs || !tp)
		return 0;
	retransmits = tp->total_retrans;
	if (old == TCP_SYN_SENT) {
		began = fs->first_ns;
	} else {
		read_addresses(tp, &a);
		known = bpf_map_lookup_elem(&synacks, &a);
		if (known) {
			began = known->first_ns;
			retransmits = known->retransmits;
			if (known->counted)
				mon_count(COUNTER_SYNACK_DONE);
			bpf_map_delete_elem(&synacks, &a);
		} else if (tp->srtt_us) {
			began = now - (u64)(tp->srtt_us >> 3) * 1000;
		}
	}
	if (!began)
		return 0;
	e = event_start(fs, tp, EVENT_HANDSHAKE, &ring);
	if (!e)
		return 0;
	e->from = old;
	e->to = retransmits < 255 ? retransmits : 255;
	e->value = (now - began) / 1000;
	submit(ring);
	return 0;
}

#endif
