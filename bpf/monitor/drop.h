/* SPDX-License-Identifier: GPL-2.0 */
/* Packets between TCP and the wire: those that this host drops, and the wait for the device. */
#ifndef AIRTIDE_DROP_H
#define AIRTIDE_DROP_H

#include "flow.h"
#include "segment.h"

struct ip4_header {
	u8 size; /* version and words */
	u8 service;
	__be16 length;
	u8 fragment[4];
	u8 hops;
	u8 protocol;
	u16 sum;
	u32 source;
	u32 destination;
};

struct ip6_header {
	u32 version;
	__be16 length; /* without this header */
	u8 protocol;
	u8 hops;
	u32 source[4];
	u32 destination[4];
};

struct tcp_header {
	__be16 source;
	__be16 destination;
	__be32 seq;
	__be32 ack;
	u8 size; /* words, in the upper half */
	u8 flags;
};

#define ETHER_IP4 0x0800
#define ETHER_IP6 0x86dd

/* The parts of a dropped packet that its record needs. */
struct dropped {
	u32 source[4];
	u32 destination[4];
	u32 header; /* of the network, bytes */
	u32 length; /* bytes behind it */
	u16 family;
};

static __always_inline bool read_network(struct dropped *d, const u8 *at, u16 protocol, u32 len)
{
	if (protocol == ETHER_IP4) {
		struct ip4_header h;

		if (bpf_probe_read_kernel(&h, sizeof(h), at) || h.protocol != IPPROTO_TCP)
			return false;
		d->family = AF_INET;
		d->source[0] = h.source;
		d->destination[0] = h.destination;
		d->header = (h.size & 15) * 4;
		d->length = bpf_ntohs(h.length);
		d->length = d->length > d->header ? d->length - d->header : len;
		return true;
	}
	if (protocol == ETHER_IP6) {
		struct ip6_header h;

		if (bpf_probe_read_kernel(&h, sizeof(h), at) || h.protocol != IPPROTO_TCP)
			return false;
		d->family = AF_INET6;
		__builtin_memcpy(d->source, h.source, 16);
		__builtin_memcpy(d->destination, h.destination, 16);
		d->header = sizeof(h);
		d->length = h.length ? bpf_ntohs(h.length) : len; /* 0 in packets above 64 KiB */
		return true;
	}
	return false;
}

/* A packet is freed before it came to its end. Only those with data or a SYN matter, and of SYNs
 * those that this host sends: others can come from anybody. */
static __always_inline void on_drop(const struct sk_buff *skb, u32 reason)
{
	struct net_device *dev = NULL;
	struct ring_control *ring;
	unsigned char *head = NULL;
	struct drop_record *r;
	struct sock *sk = NULL;
	struct dropped d = {};
	struct tcp_header h;
	struct net *net = NULL;
	u16 network = 0;
	__be16 protocol = 0;
	u32 len = 0, size;

	read_field(protocol, skb->protocol);
	if (protocol != bpf_htons(ETHER_IP4) && protocol != bpf_htons(ETHER_IP6))
		return;
	read_field(head, skb->head);
	read_field(network, skb->network_header);
	read_field(len, skb->len);
	if (!read_network(&d, head + network, bpf_ntohs(protocol), len))
		return;
	if (bpf_probe_read_kernel(&h, sizeof(h), head + network + d.header))
		return;
	size = h.size >> 4 << 2;
	if (d.length <= size) {
		read_field(sk, skb->sk);
		if (!(h.flags & FLAG_SYN) || !sk)
			return;
	}
	mon_enter();
	r = reserve(&ring);
	if (!r)
		goto out;
	r->kind = RECORD_DROP;
	r->tcp_flags = h.flags;
	r->family = d.family;
	r->reason = reason;
	r->flow = 0;
	r->time_ns = bpf_ktime_get_ns();
	__builtin_memcpy(r->source, d.source, 16);
	__builtin_memcpy(r->destination, d.destination, 16);
	r->source_port = bpf_ntohs(h.source);
	r->destination_port = bpf_ntohs(h.destination);
	r->seq = bpf_ntohl(h.seq);
	r->payload = d.length > size ? d.length - size : 0;
	r->netns = 0;
	r->device[0] = 0;
	read_field(dev, skb->dev);
	if (dev) {
		bpf_probe_read_kernel_str(r->device, sizeof(r->device), &dev->name);
		read_field(net, dev->nd_net.net);
		if (net)
			read_field(r->netns, net->ns.inum);
	}
	submit(ring);
out:
	mon_leave();
}

/* A shorter time is the way through the host, and no wait. */
#define LEAST_WAIT_NS 10000

/* A packet goes from the queueing discipline to the device. TCP has noted when it may leave at the
 * earliest (skb_mstamp_ns). Nearly all packets of an empty queue go at the first check. */
static __always_inline void on_device(const struct sk_buff *skb)
{
	struct sock *sk = NULL;
	struct flow_state *fs;
	u64 from = 0, wait, key;

	load_field(from, struct sk_buff, skb, tstamp);
	wait = bpf_ktime_get_ns() - from;
	if (!from || (s64)wait < LEAST_WAIT_NS)
		return;
	load_field(sk, struct sk_buff, skb, sk);
	if (!sk)
		return;
	key = (u64)sk;
	fs = bpf_map_lookup_elem(&flows, &key);
	if (fs && wait > fs->device_wait_ns)
		fs->device_wait_ns = wait;
}

#endif
