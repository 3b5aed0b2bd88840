/* SPDX-License-Identifier: GPL-2.0 */
/* The header of an arriving segment: acknowledgement, window, flags, SACK blocks. */
#ifndef AIRTIDE_SEGMENT_H
#define AIRTIDE_SEGMENT_H

#include "flow.h"
#include "kernel.h"
#include "record.h"

static __always_inline bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

struct packet {
	u32 seq;
	u32 ack;
	u32 window;
	u32 payload;
	u8 flags;
	u8 blocks;
	u8 dsack;
	u8 timestamps;
	u16 segments;
	u32 tsval;
	u32 tsecr;
	u32 sack[2 * MAX_BLOCKS];
};

#define TCP_HEADER 20
#define TCP_OPTIONS 40
#define FLAG_SYN 2
#define FLAG_RST 4
#define FLAG_ECE 64
#define OPTION_EOL 0
#define OPTION_NOP 1
#define OPTION_SACK 5
#define OPTION_TIMESTAMP_PADDED 12
/* Two NOPs, and kind and length of the option, as Linux and most others send it. */
#define TIMESTAMP_PADDED_WORD 0x0101080a

/* More than any stack sends: a timestamp, SACK and the padding of both are six. It bounds the
 * verifier's work. */
#define MAX_OPTIONS 12

/* Not on the stack: kernels before 5.12 refuse to read there at an offset that is not constant. */
struct options {
	u8 bytes[TCP_OPTIONS + 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct options);
} options_scratch SEC(".maps");

/* Finds the SACK option (RFC 2018) and whether its first block is a DSACK (RFC 2883 section 4). */
static __noinline int parse_sack(struct packet *p, const u8 *header, u32 length)
{
	u32 zero = 0, at = 0;
	struct options *options = bpf_map_lookup_elem(&options_scratch, &zero);

	if (!p || !header || !options)
		return 0;
	if (length > TCP_OPTIONS)
		length = TCP_OPTIONS;
	if (bpf_probe_read_kernel(options->bytes, TCP_OPTIONS, header + TCP_HEADER))
		return 0;
	for (int i = 0; i < MAX_OPTIONS; i++) {
		u32 kind, size, n;

		if (at + 1 >= length || at >= TCP_OPTIONS - 1)
			return 0;
		kind = options->bytes[at];
		if (kind == OPTION_EOL)
			return 0;
		if (kind == OPTION_NOP) {
			at++;
			continue;
		}
		size = options->bytes[at + 1];
		if (size < 2)
			return 0;
		if (kind != OPTION_SACK) {
			at += size;
			continue;
		}
		n = (size - 2) / 8;
		if (n > MAX_BLOCKS)
			n = MAX_BLOCKS;
		if (at + 2 + 8 * n > length)
			return 0;
		if (bpf_probe_read_kernel(p->sack, sizeof(p->sack), header + TCP_HEADER + at + 2))
			return 0;
		for (int b = 0; b < 2 * MAX_BLOCKS; b++)
			p->sack[b] = bpf_ntohl(p->sack[b]);
		p->blocks = n;
		p->dsack = n && (before(p->sack[0], p->ack) ||
				 (n > 1 && !before(p->sack[0], p->sack[2]) && !before(p->sack[3], p->sack[1])));
		return 0;
	}
	return 0;
}

/* Reads the timestamps (RFC 7323) where they come first among the options, as they nearly always
 * do. */
static __always_inline void parse_timestamps(struct packet *p, const u8 *header, u32 size)
{
	u32 words[3] = {};

	if (size < TCP_HEADER + OPTION_TIMESTAMP_PADDED)
		return;
	header += TCP_HEADER;
	if (bpf_rdonly_cast && bpf_core_type_exists(union tcp_word_hdr)) {
		union tcp_word_hdr *h = bpf_rdonly_cast(header, bpf_core_type_id_kernel(union tcp_word_hdr));

		words[0] = h->words[0];
		words[1] = h->words[1];
		words[2] = h->words[2];
	} else {
		bpf_probe_read_kernel(words, sizeof(words), header);
	}
	if (words[0] != bpf_htonl(TIMESTAMP_PADDED_WORD))
		return;
	p->timestamps = 1;
	p->tsval = bpf_ntohl(words[1]);
	p->tsecr = bpf_ntohl(words[2]);
}

/* The place of an arriving segment. The two kinds of programs read it from the sk_buff in their own
 * ways. */
struct arrival {
	const u8 *header;
	const struct tcp_skb_cb *cb;
	const struct skb_shared_info *shared; /* only WITH_MERGES */
	u32 len;
	bool typed; /* the program may read through typed pointers, which is cheaper than a copy */
};

/* The acknowledgement number is TCP's own note of it: of segments that it joins in a socket's
 * backlog the header keeps the first's number, and the window and flags of all (tcp_add_backlog
 * in net/ipv4/tcp_ipv4.c). */
static __always_inline bool parse(struct packet *p, struct tcp_sock *tp, const struct arrival *a)
{
	u32 size, control;

	if (a->typed && bpf_rdonly_cast && bpf_core_type_exists(union tcp_word_hdr)) {
		union tcp_word_hdr *h = bpf_rdonly_cast(a->header, bpf_core_type_id_kernel(union tcp_word_hdr));
		struct tcp_skb_cb *cb = bpf_rdonly_cast(a->cb, bpf_core_type_id_kernel(struct tcp_skb_cb));

		p->seq = bpf_ntohl(h->words[1]);
		p->ack = cb->ack_seq;
		control = bpf_ntohl(h->words[3]);
	} else {
		u32 words[5] = {};

		if (bpf_probe_read_kernel(words, sizeof(words), a->header))
			return false;
		p->seq = bpf_ntohl(words[1]);
		read_field(p->ack, a->cb->ack_seq);
		control = bpf_ntohl(words[3]);
	}
	/* Data offset, flags and window share a word. */
	size = control >> 28 << 2;
	p->flags = control >> 16;
	p->window = (control & 0xffff) << BPF_CORE_READ_BITFIELD(tp, rx_opt.snd_wscale);
	p->payload = a->len > size ? a->len - size : 0;
	/* Nearly every header has a timestamp, which every segment then carries, and nothing
	 * besides. */
	if (size > TCP_HEADER + OPTION_TIMESTAMP_PADDED ||
	    (size > TCP_HEADER && !BPF_CORE_READ_BITFIELD(tp, rx_opt.tstamp_ok)))
		parse_sack(p, a->header, size - TCP_HEADER);
	if (mon_with & WITH_TIMESTAMPS)
		parse_timestamps(p, a->header, size);
	if (mon_with & WITH_MERGES) {
		load_field(p->segments, struct skb_shared_info, a->shared, gso_segs);
		if (!p->segments)
			p->segments = 1;
	}
	return true;
}

#endif
