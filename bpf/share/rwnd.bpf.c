// SPDX-License-Identifier: GPL-2.0
/* The windows that a terminal's sockets advertise, bounded in the packets that leave, and what
 * the senders make of them.
 *
 * No socket is touched: where this program is gone, for whatever reason, or its lease has run
 * out, each acknowledgement that leaves carries the socket's own window again. What a sender has
 * sent beyond a window that has become smaller is in the socket's window still, and is taken.
 *
 * Round trips are those of TCP's timestamps (RFC 7323): from the first segment that leaves with
 * a value to the first one that echoes it. What echoes it was sent when the window that left
 * with it was known, so it tells too whether the sender has used that window. */
#include "kernel.h"
#include <bpf/bpf_core_read.h>

#include "skb.h"

char LICENSE[] SEC("license") = "GPL";

#define RWND_FLOWS 16384
#define RWND_NET 1 /* BPF_HDR_START_NET */
#define RWND_TIMESTAMP 0x0101080a /* two of padding, kind, length: where all systems put it (RFC 7323, appendix A) */
#define RWND_SYN_RST 6
#define RWND_TCP 20 /* bytes of a header without options */
#define RWND_WINDOW 14 /* where its window and its checksum stand */
#define RWND_CHECKSUM 16

/* A packet as these programs see it: skb.h's, and its socket. include/uapi/linux/bpf.h; not
 * relocated. */
struct bpf_sock;

struct rwnd_packet {
	struct __sk_buff head;
	struct bpf_sock *sk;
};

struct rwnd_flow {
	u32 local[4]; /* IPv4 mapped into IPv6 */
	u32 remote[4];
	__be16 local_port;
	__be16 remote_port;
};

/* In bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RWND_FLOWS);
	__type(key, struct rwnd_flow);
	__type(value, u32);
} bounds SEC(".maps");

struct rwnd_order {
	u64 until_ns; /* bounds hold so long (CLOCK_MONOTONIC) */
	u64 period; /* least round-trip times are those of a period */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct rwnd_order);
} order SEC(".maps");

/* Observations of a flow. Sums only grow. */
struct rwnd_seen {
	u64 sent_ns; /* when the value that is waited for left first; 0: none is waited for */
	u64 rtt_ns; /* sum */
	u64 rtt_min_ns; /* of the period */
	u64 period;
	u32 rtts;
	u32 used; /* how many of them ended with the window in use */
	u32 bounded; /* segments whose window was made smaller */
	u32 value; /* that is waited for */
	u32 latest; /* that has left */
	u32 edge; /* of the window that left with it */
	u32 window; /* from the acknowledgement to the edge */
	u32 top; /* of what was sent by one who knew it */
	u32 echoed;
	u32 own; /* the edge is the socket's own, not the bound's */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RWND_FLOWS);
	__type(key, struct rwnd_flow);
	__type(value, struct rwnd_seen);
} seen SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sk_buff___rwnd {
	unsigned char *head;
	unsigned char *data;
	u16 network_header;
};

struct tcp_options_received___rwnd {
	u16 rcv_wscale : 4;
};

struct tcp_sock___rwnd {
	struct tcp_options_received___rwnd rx_opt;
};

#pragma clang attribute pop

extern void *bpf_cast_to_kern_ctx(void *) __ksym;

static __always_inline bool after(u32 a, u32 b)
{
	return (s32)(a - b) > 0;
}

/* A segment's headers. */
struct rwnd_segment {
	struct rwnd_flow flow;
	u32 at; /* of the TCP header, from the network header */
	u32 seq;
	u32 ack;
	u32 payload;
	u32 value; /* timestamps; 0 without */
	u32 echo;
	__be16 window;
	u8 flags;
};

/* Reads a segment of TCP; false for all else. */
static __always_inline bool read_segment(struct rwnd_packet *p, struct rwnd_segment *s, bool leaves)
{
	u32 header[(RWND_TCP + 12) / 4] = {}, total, size;
	u8 ip[40];
	__be16 from, to;

	__builtin_memset(s, 0, sizeof(*s));
	if (p->head.protocol == bpf_htons(ETHER_IP4)) {
		if (bpf_skb_load_bytes_relative(p, 0, ip, 20, RWND_NET) || ip[9] != IPPROTO_TCP)
			return false;
		if ((ip[6] & 0x3f) || ip[7]) /* a fragment */
			return false;
		s->at = (ip[0] & 15) * 4;
		total = ip[2] << 8 | ip[3];
		s->flow.local[2] = s->flow.remote[2] = bpf_htonl(0xffff);
		__builtin_memcpy(&s->flow.local[3], ip + (leaves ? 12 : 16), 4);
		__builtin_memcpy(&s->flow.remote[3], ip + (leaves ? 16 : 12), 4);
	} else if (p->head.protocol == bpf_htons(ETHER_IP6)) {
		if (bpf_skb_load_bytes_relative(p, 0, ip, 40, RWND_NET) || ip[6] != IPPROTO_TCP)
			return false;
		s->at = 40;
		total = 40 + (ip[4] << 8 | ip[5]);
		__builtin_memcpy(s->flow.local, ip + (leaves ? 8 : 24), 16);
		__builtin_memcpy(s->flow.remote, ip + (leaves ? 24 : 8), 16);
	} else {
		return false;
	}
	if (bpf_skb_load_bytes_relative(p, s->at, header, RWND_TCP, RWND_NET))
		return false;
	from = ((__be16 *)header)[0];
	to = ((__be16 *)header)[1];
	s->flow.local_port = leaves ? from : to;
	s->flow.remote_port = leaves ? to : from;
	s->seq = bpf_ntohl(header[1]);
	s->ack = bpf_ntohl(header[2]);
	s->flags = ((u8 *)header)[13];
	s->window = ((__be16 *)header)[7];
	size = (((u8 *)header)[12] >> 4) * 4;
	if (total > s->at + size)
		s->payload = total - s->at - size;
	if (size < RWND_TCP + 12 || bpf_skb_load_bytes_relative(p, s->at + RWND_TCP, header, 12, RWND_NET))
		return true;
	if (header[0] == bpf_htonl(RWND_TIMESTAMP)) {
		s->value = bpf_ntohl(header[1]);
		s->echo = bpf_ntohl(header[2]);
	}
	return true;
}

static __always_inline u32 bound_of(const struct rwnd_flow *flow)
{
	u32 zero = 0, *bound = bpf_map_lookup_elem(&bounds, flow);
	struct rwnd_order *o = bpf_map_lookup_elem(&order, &zero);

	if (!bound || !o || bpf_ktime_get_ns() > *(volatile u64 *)&o->until_ns)
		return 0;
	return *(volatile u32 *)bound;
}

/* Makes the window that the segment carries no greater than the bound; returns what it carries
 * then, unscaled. */
static __always_inline u32 apply(struct rwnd_packet *p, struct rwnd_segment *s, struct rwnd_seen *f, u32 bound,
				 u32 scale)
{
	struct sk_buff___rwnd *skb = bpf_cast_to_kern_ctx(p);
	u32 window = bpf_ntohs(s->window), most = (bound + (1u << scale) - 1) >> scale, tcp;
	__be16 less;

	if (!bound || window <= most)
		return window;
	tcp = (u64)BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, network_header) - (u64)BPF_CORE_READ(skb, data) +
	      s->at;
	less = bpf_htons(most);
	if (bpf_l4_csum_replace(&p->head, tcp + RWND_CHECKSUM, s->window, less, sizeof(less)) ||
	    bpf_skb_store_bytes(&p->head, tcp + RWND_WINDOW, &less, sizeof(less), 0))
		return window;
	f->bounded++;
	return most;
}

SEC("tc")
int leaves(struct rwnd_packet *p)
{
	struct rwnd_segment s;
	struct rwnd_seen *f;
	struct bpf_sock *sk;
	struct tcp_sock___rwnd *tp;
	u32 bound, scale, window;

	if (!read_segment(p, &s, true) || (s.flags & RWND_SYN_RST))
		return VERDICT_NEXT;
	f = bpf_map_lookup_elem(&seen, &s.flow);
	sk = p->sk;
	if (!f || !sk)
		return VERDICT_NEXT;
	tp = (void *)bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return VERDICT_NEXT;
	scale = BPF_CORE_READ_BITFIELD(tp, rx_opt.rcv_wscale) & 15;
	bound = bound_of(&s.flow);
	window = apply(p, &s, f, bound, scale) << scale;
	if (!s.value)
		return VERDICT_NEXT;
	if (!f->sent_ns && s.value != f->latest) { /* the first with it: earlier ones would be echoed earlier */
		f->value = s.value;
		f->edge = s.ack;
		f->echoed = 0;
		f->sent_ns = bpf_ktime_get_ns();
	}
	f->latest = s.value;
	if (s.value == f->value && !after(f->edge, s.ack + window)) {
		f->edge = s.ack + window;
		f->window = window;
		f->own = !bound || window < bound;
	}
	return VERDICT_NEXT;
}

static __always_inline void count_rtt(struct rwnd_seen *f, u64 rtt)
{
	u32 zero = 0;
	struct rwnd_order *o = bpf_map_lookup_elem(&order, &zero);

	if (o && f->period != *(volatile u64 *)&o->period) {
		f->period = *(volatile u64 *)&o->period;
		f->rtt_min_ns = 0;
	}
	f->rtts++;
	f->rtt_ns += rtt;
	if (!f->rtt_min_ns || rtt < f->rtt_min_ns)
		f->rtt_min_ns = rtt;
}

/* A sender waits for room for some segments, and sends whole ones only: a fifth of the window
 * may be left. */
static __always_inline bool in_use(const struct rwnd_seen *f)
{
	return !f->own && !after(f->edge, f->top + f->window / 5 + 3000);
}

SEC("tc")
int arrives(struct rwnd_packet *p)
{
	struct rwnd_segment s;
	struct rwnd_seen *f;
	u32 top;

	if (!read_segment(p, &s, false) || !s.payload || !s.value)
		return VERDICT_NEXT;
	f = bpf_map_lookup_elem(&seen, &s.flow);
	if (!f || !f->sent_ns || after(f->value, s.echo))
		return VERDICT_NEXT;
	top = s.seq + s.payload;
	if (s.echo == f->value) {
		if (!f->echoed) {
			f->echoed = 1;
			f->top = top;
			count_rtt(f, bpf_ktime_get_ns() - f->sent_ns);
		} else if (after(top, f->top)) {
			f->top = top;
		}
		return VERDICT_NEXT;
	}
	if (f->echoed && in_use(f))
		f->used++;
	f->sent_ns = 0;
	return VERDICT_NEXT;
}

const struct rwnd_flow *unused_flow __attribute__((unused));
const struct rwnd_order *unused_order __attribute__((unused));
const struct rwnd_seen *unused_seen __attribute__((unused));
