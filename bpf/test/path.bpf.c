// SPDX-License-Identifier: GPL-2.0
/* Loses, marks and delays the TCP segments that pass one end of a veth. User space steers it
 * through slots of one number each: counts that run down here and orders from there then do not
 * overwrite each other. */
#include "skb.h"

char LICENSE[] SEC("license") = "GPL";

/* Each order is a pair: the number of segments to spare first, then the number to treat. */
enum slot {
	SLOT_DROP_DATA_SKIP,
	SLOT_DROP_DATA,
	SLOT_MARK_SKIP,
	SLOT_MARK,
	SLOT_HOLD_SKIP,
	SLOT_HOLD,
	SLOT_HOLD_NS, /* how long each segment of SLOT_HOLD is held back */
	SLOT_DROP_EVERY, /* every nth data segment */
	SLOT_BLACKOUT, /* every segment, unless 0 */
	SLOT_VANISH, /* the device that lost segments go to, unless 0 */
	SLOT_DELAY_NS, /* how long every segment is held back */
	/* Counts. */
	SLOT_SEEN_DATA,
	SLOT_SEEN_ACKS,
	SLOT_DROPPED,
	SLOT_MARKED,
	SLOT_HELD,
	SLOT_HOLD_FAILED,
	SLOTS,
};

#define FRAME_BYTES 2048

struct held_frame {
	__u64 delay_ns;
	__u32 length;
	__u32 unused;
	__u8 bytes[FRAME_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} held SEC(".maps");

#define ETHER 14
#define PROTOCOL_TCP 6
#define FLAGS_CONTROL 7 /* FIN, SYN, RST */

static __always_inline __u64 get(__u32 i)
{
	__u64 *v = bpf_map_lookup_elem(&slots, &i);

	return v ? *v : 0;
}

static __always_inline void add(__u32 i, __s64 n)
{
	__u64 *v = bpf_map_lookup_elem(&slots, &i);

	if (v)
		__sync_fetch_and_add(v, n);
}

static __always_inline int hits(__u32 skip, __u32 count)
{
	if (!get(count))
		return 0;
	if (get(skip)) {
		add(skip, -1);
		return 0;
	}
	add(count, -1);
	return 1;
}

/* Gives the segment to user space, which sends it later. */
static __always_inline int hold(struct __sk_buff *skb, __u64 delay_ns)
{
	struct held_frame *frame;
	/* From one to FRAME_BYTES, in a way that Linux 5.10's verifier follows. */
	__u32 length = skb->len - 1;

	asm volatile("" : "+r"(length));
	if (length >= FRAME_BYTES)
		goto failed;
	length++;
	frame = bpf_ringbuf_reserve(&held, sizeof(*frame), 0);
	if (!frame)
		goto failed;
	frame->delay_ns = delay_ns;
	frame->length = length;
	if (bpf_skb_load_bytes(skb, 0, frame->bytes, length)) {
		bpf_ringbuf_discard(frame, 0);
		goto failed;
	}
	bpf_ringbuf_submit(frame, 0);
	add(SLOT_HELD, 1);
	return VERDICT_DROP;
failed:
	add(SLOT_HOLD_FAILED, 1);
	return VERDICT_NEXT;
}

static __always_inline int drop(void)
{
	add(SLOT_DROPPED, 1);
	return get(SLOT_VANISH) ? bpf_redirect(get(SLOT_VANISH), 0) : VERDICT_DROP;
}

static __always_inline int treat(struct __sk_buff *skb, __u32 payload, __u8 flags)
{
	__u64 delay_ns = get(SLOT_DELAY_NS), every;

	if (payload)
		add(SLOT_SEEN_DATA, 1);
	else if (!(flags & FLAGS_CONTROL))
		add(SLOT_SEEN_ACKS, 1);
	if (get(SLOT_BLACKOUT))
		return drop();
	if (payload) {
		every = get(SLOT_DROP_EVERY);
		if (hits(SLOT_DROP_DATA_SKIP, SLOT_DROP_DATA) || (every && get(SLOT_SEEN_DATA) % every == 0))
			return drop();
		if (get(SLOT_MARK)) {
			if (get(SLOT_MARK_SKIP)) {
				add(SLOT_MARK_SKIP, -1);
			} else if (bpf_skb_ecn_set_ce((void *)skb)) {
				add(SLOT_MARK, -1);
				add(SLOT_MARKED, 1);
			}
		}
		if (hits(SLOT_HOLD_SKIP, SLOT_HOLD))
			delay_ns += get(SLOT_HOLD_NS);
	}
	return delay_ns ? hold(skb, delay_ns) : VERDICT_NEXT;
}

SEC("tc")
int segment(struct __sk_buff *skb)
{
	__u8 ether[ETHER], ip[20], tcp[20];
	__u32 total, header, size;
	__u16 protocol;

	if (bpf_skb_load_bytes(skb, 0, ether, ETHER))
		return VERDICT_NEXT;
	/* The sender's address of the frames that hold.go sends on: 02 and the letters of airti. */
	if (ether[6] == 0x02 && ether[7] == 'a' && ether[8] == 'i' && ether[9] == 'r' && ether[10] == 't' &&
	    ether[11] == 'i')
		return VERDICT_NEXT;
	protocol = ether[12] << 8 | ether[13];
	if (bpf_skb_load_bytes(skb, ETHER, ip, sizeof(ip)))
		return VERDICT_NEXT;
	if (protocol == ETHER_IP4 && ip[9] == PROTOCOL_TCP) {
		header = (ip[0] & 15) * 4;
		total = ip[2] << 8 | ip[3];
	} else if (protocol == ETHER_IP6 && ip[6] == PROTOCOL_TCP) {
		header = 40;
		total = 40 + (ip[4] << 8 | ip[5]);
	} else {
		return VERDICT_NEXT;
	}
	if (bpf_skb_load_bytes(skb, ETHER + header, tcp, sizeof(tcp)))
		return VERDICT_NEXT;
	size = header + (tcp[12] >> 4) * 4;
	return treat(skb, total > size ? total - size : 0, tcp[13]);
}

const enum slot *unused_slot __attribute__((unused));
const struct held_frame *unused_held_frame __attribute__((unused));
