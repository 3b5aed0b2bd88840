// SPDX-License-Identifier: GPL-2.0
/* The egress of a station's device, which refuses a packet while the station's queue is full, as
 * the driver of a real Wi-Fi device does. A refused transmission returns NET_XMIT_DROP to its
 * sender, which TCP takes for congestion of the local device: it enters CWR (tcp_enter_cwr in
 * tcp_transmit_skb) and retransmits nothing.
 *
 * The engine gives credit: how many packets may have entered since the beginning. A packet
 * enters while there is credit, whatever its number of segments, so the queue overruns its limit
 * by at most the rest of one super-packet, which waits in the ring of the tap. Credit is counted
 * rather than the queue's length published so that what is on its way to the engine counts too. */
#include "skb.h"

char LICENSE[] SEC("license") = "GPL";

/* Counters in memory that the program and the engine share. They count packets after
 * segmentation. */
struct credit {
	__u64 allowed; /* written by the engine: how many may have entered */
	__u64 entered; /* written here */
	__u64 refused; /* written here */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct credit);
} credits SEC(".maps");

SEC("tc")
int admit(struct __sk_buff *skb)
{
	__u32 zero = 0, segments = skb->gso_segs ? skb->gso_segs : 1;
	struct credit *c = bpf_map_lookup_elem(&credits, &zero);
	__u8 destination;

	if (!c || (skb->protocol != bpf_htons(ETHER_IP4) && skb->protocol != bpf_htons(ETHER_IP6)))
		return VERDICT_NEXT;
	/* The cell carries no multicast, so it does not count. */
	if (bpf_skb_load_bytes(skb, 0, &destination, 1) || (destination & 1))
		return VERDICT_NEXT;
	if (*(volatile __u64 *)&c->entered >= *(volatile __u64 *)&c->allowed) {
		__sync_fetch_and_add(&c->refused, segments);
		return VERDICT_DROP;
	}
	__sync_fetch_and_add(&c->entered, segments);
	return VERDICT_NEXT;
}

const struct credit *unused_credit __attribute__((unused));
