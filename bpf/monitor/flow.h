/* SPDX-License-Identifier: GPL-2.0 */
/* Flows in the kernel: the table of sockets, the state of each, and the filter, which is evaluated
 * once for each flow. The key is the address of the socket. The entry is deleted when the socket is
 * closed or destroyed. */
#ifndef AIRTIDE_FLOW_H
#define AIRTIDE_FLOW_H

#include "filter.h"
#include "record.h"
#include "ring.h"

enum mon_verdict {
	VERDICT_NEW, /* not announced yet: the ring was full */
	VERDICT_UNDECIDED, /* the filter needs the owner, who is not known yet */
	VERDICT_ACCEPT,
	VERDICT_REJECT,
};

struct flow_state {
	u64 id; /* sequence number << 12 | processor; 0 until accepted */
	u64 first_ns; /* time of the first sight, CLOCK_MONOTONIC */
	u64 last_sample_ns; /* 0 before the first sample */
	u64 ca_ops; /* address of the congestion control's functions */
	u64 inode; /* of the socket, 0 until it is known */
	u32 pid; /* owner, 0 until it is known */
	u32 held; /* hooks that wrote records while undecided */
	u8 verdict; /* enum mon_verdict */
	u8 inherited; /* was open when first seen */
	u8 opened; /* the open event has been sent */
	u8 reason; /* enum mon_reason of the end, as far as it is known */
	u8 announce; /* owner or inode has changed since the last announcement */
	u8 announced; /* a flow record has been sent */
	/* As the last sample or event saw them, to find events by difference. */
	u32 last_ack; /* acknowledgement number of the last segment */
	u32 tlp_high_seq;
	u32 undo_marker;
	u32 reord_seen;
	u32 cwnd;
	u32 ssthresh;
	u32 lost;
	u32 total_retrans;
	u32 retransmits; /* total_retrans at the last retransmission */
	u32 delivered_ce;
	u8 cc_words; /* 64-bit words of the private state that are recorded */
	u8 ca_state;
	u8 sampled_ca_state;
	u8 backoff;
	u8 limit; /* chrono_type of the peer's window or the send buffer, else 0 */
	u8 marker_state; /* ca_state in which undo_marker was set */
	u8 timeouts; /* icsk_backoff for which timeout events have been sent */
	u8 loss_by_mtu; /* Loss was not entered by a timeout */
	u8 ece; /* the last segment echoed congestion */
	u8 dsack; /* the last segment had a DSACK */
	u8 peer_zero_window; /* the peer's window is 0 */
	u8 local_zero_window; /* this end's window is 0 */
	char comm[16]; /* name of the owner's process */
	u64 device_wait_ns; /* longest wait of a packet for the device since the last sample */
};

/* Parts on demand: bits of enum mon_with_parts. */
volatile const u32 mon_with;

/* Nobody asks for owners: the hook at reads is not attached, and segments look nothing up. */
volatile const bool mon_without_owners;

/* Hooks at which an undecided flow writes records, which user space holds. The bound is for flows
 * that never get an owner. */
#define MAX_HELD 16384

struct owner {
	u32 pid;
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, struct flow_state);
} flows SEC(".maps");

/* Owners by socket inode: those that user space has found by /proc, and those of MPTCP connections.
 * They are read once or twice a flow, so the oldest may go. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct owner);
} owners SEC(".maps");

enum mon_unfollowed {
	UNFOLLOWED_REJECTED = 1, /* the filter is not asked again */
	UNFOLLOWED_NO_ROOM, /* counted; followed when there is room again */
};

/* Sockets that are not followed. Their own table leaves the other one to sockets that the filter
 * accepts. One that falls out of it is filtered or counted again. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, u64);
	__type(value, u8);
} unfollowed SEC(".maps");

/* 64-bit words of each congestion control's private state that user space can read. */
struct cc_name {
	char name[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct cc_name);
	__type(value, u8);
} cc_words SEC(".maps");

volatile const u32 mon_cc_words_most;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} next_flow SEC(".maps");

static __always_inline u64 new_flow_id(void)
{
	u32 zero = 0;
	u64 *n = bpf_map_lookup_elem(&next_flow, &zero);

	if (!n)
		return 0;
	(*n)++;
	return *n << 12 | bpf_get_smp_processor_id();
}

/* Whether the owner passes: VERDICT_ACCEPT, VERDICT_REJECT, or VERDICT_UNDECIDED while there is
 * none. */
static __always_inline u8 owner_verdict(struct flow_state *fs)
{
	if (!filter_pids_n && !filter_comms_n)
		return VERDICT_ACCEPT;
	if (!fs->pid)
		return VERDICT_UNDECIDED;
	if (filter_pids_n && !bpf_map_lookup_elem(&filter_pids, &fs->pid))
		return VERDICT_REJECT;
	if (filter_comms_n) {
		struct comm_key key;

		__builtin_memcpy(key.comm, fs->comm, sizeof(key.comm));
		if (!bpf_map_lookup_elem(&filter_comms, &key))
			return VERDICT_REJECT;
	}
	return VERDICT_ACCEPT;
}

struct bpf_pidns_info { /* include/uapi/linux/bpf.h */
	u32 pid;
	u32 tgid;
};

/* The file in /proc of the PID namespace of the monitor; 0 for the initial one, where every
 * process has an id. */
volatile const u64 mon_pidns_dev, mon_pidns_ino;

/* The current process as the monitor sees it, 0 when it is of another namespace than the
 * monitor's. */
static __always_inline u32 current_process(void)
{
	struct bpf_pidns_info ids;

	if (!mon_pidns_ino)
		return bpf_get_current_pid_tgid() >> 32;
	if (bpf_get_ns_current_pid_tgid(mon_pidns_dev, mon_pidns_ino, &ids, sizeof(ids)))
		return 0;
	return ids.tgid;
}

/* The current process becomes the owner. Only for hooks that run on behalf of a system call. A
 * kernel thread works for the socket of a process: MPTCP opens and closes subflows by one. A thread
 * may have a name of its own; the process's, as in /proc/PID/comm, is that of the thread that leads
 * the group. */
static __always_inline void own_by_current(struct flow_state *fs)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task(), *leader = NULL;
	unsigned int flags = 0;
	u32 pid;

	if (mon_without_owners || fs->pid)
		return;
	read_field(flags, task->flags);
	if (flags & PF_KTHREAD)
		return;
	pid = current_process();
	if (!pid)
		return;
	fs->pid = pid;
	read_field(leader, task->group_leader);
	if (!leader || bpf_probe_read_kernel(fs->comm, sizeof(fs->comm), &leader->comm))
		bpf_get_current_comm(fs->comm, sizeof(fs->comm));
	fs->announce = 1;
}

static __always_inline bool lacks_owner(const struct flow_state *fs)
{
	return !mon_without_owners && (!fs->pid || !fs->inode);
}

/* Keeps the owner for the other subflows of an MPTCP connection, which kernel threads open. All
 * have the inode of the connection's socket. */
static __always_inline void share_owner(struct flow_state *fs, struct tcp_sock *tp)
{
	struct owner o = {.pid = fs->pid};

	if (!bpf_core_field_exists(tp->is_mptcp) || !tp->is_mptcp)
		return;
	__builtin_memcpy(o.comm, fs->comm, sizeof(o.comm));
	bpf_map_update_elem(&owners, &fs->inode, &o, 0);
}

/* Takes up the inode once accept() has given the socket one, and the owner once it is in the
 * table. */
static __always_inline void refresh_owner(struct flow_state *fs, struct tcp_sock *tp)
{
	struct owner *owner;

	if (!fs->inode) {
		fs->inode = inode_of(tp);
		if (!fs->inode)
			return;
		fs->announce = 1;
	}
	if (fs->pid) {
		share_owner(fs, tp);
		return;
	}
	owner = bpf_map_lookup_elem(&owners, &fs->inode);
	if (!owner)
		return;
	fs->pid = owner->pid;
	__builtin_memcpy(fs->comm, owner->comm, sizeof(fs->comm));
	fs->announce = 1;
}

/* Sends the flow record. False when the ring is full: the next hook tries again, so nothing is
 * lost by it. */
static __noinline bool announce(struct flow_state *fs, struct tcp_sock *tp)
{
	const struct tcp_congestion_ops *ops;
	struct addresses a = {};
	struct ring_control *ring;
	struct flow_record *r;

	if (!fs || !tp)
		return false;
	r = reserve(&ring);
	if (!r)
		return false;
	read_addresses(tp, &a);
	r->kind = RECORD_FLOW;
	r->flags = (fs->inherited ? FLOW_INHERITED : 0) | (fs->verdict == VERDICT_UNDECIDED ? FLOW_UNDECIDED : 0) |
		   (fs->verdict == VERDICT_REJECT ? FLOW_REJECTED : 0);
	r->family = a.family;
	r->netns = netns_of(tp);
	r->flow = fs->id;
	r->time_ns = bpf_ktime_get_ns();
	r->first_ns = fs->first_ns;
	__builtin_memcpy(r->local, a.local, 16);
	__builtin_memcpy(r->remote, a.remote, 16);
	r->local_port = a.local_port;
	r->remote_port = a.remote_port;
	r->pid = fs->pid;
	r->cgroup = cgroup_id(cgroup_pointer(tp));
	r->inode = fs->inode;
	__builtin_memcpy(r->comm, fs->comm, sizeof(r->comm));
	__builtin_memset(r->cc, 0, sizeof(r->cc));
	ops = tp->inet_conn.icsk_ca_ops;
	if (ops)
		bpf_probe_read_kernel_str(r->cc, sizeof(r->cc), &ops->name);
	submit(ring);
	fs->announce = 0;
	fs->announced = 1;
	return true;
}

/* Reports whether a socket passes all of the filter but its owners. Its addresses must be known. */
static __noinline bool socket_passes(struct tcp_sock *tp)
{
	struct addresses a = {};

	if (!tp)
		return false;
	read_addresses(tp, &a);
	return address_passes(&a) && netns_passes(netns_of(tp)) && cgroup_passes(cgroup_pointer(tp));
}

/* Evaluates the filter. Called once for each flow, when its addresses are known. */
static __noinline u8 evaluate_filter(struct flow_state *fs, struct tcp_sock *tp)
{
	if (!fs || !tp || !socket_passes(tp))
		return VERDICT_REJECT;
	return owner_verdict(fs);
}

/* Counts a socket for which the table has no room, once, if the filter wants it. A socket that has
 * no addresses yet waits for its next hook. */
static __noinline int count_untracked(u64 key, struct tcp_sock *tp)
{
	u8 why = UNFOLLOWED_NO_ROOM;

	if (!tp || !socket_passes(tp))
		return 0;
	if (!bpf_map_update_elem(&unfollowed, &key, &why, BPF_NOEXIST))
		mon_count(COUNTER_UNTRACKED);
	return 0;
}

/* The end that has closed a connection, as far as the state at its first sight tells. */
static __always_inline u8 reason_so_far(u8 state)
{
	switch (state) {
	case TCP_FIN_WAIT1:
	case TCP_FIN_WAIT2:
	case TCP_CLOSING:
		return REASON_LOCAL_FIN;
	case TCP_CLOSE_WAIT:
	case TCP_LAST_ACK:
		return REASON_REMOTE_FIN;
	}
	return REASON_NONE;
}

/* Notes the congestion control. */
static __noinline int private_state_of(struct flow_state *fs, struct tcp_sock *tp)
{
	const struct tcp_congestion_ops *ops;
	struct cc_name key = {};
	u8 *words;

	if (!fs || !tp)
		return 0;
	ops = tp->inet_conn.icsk_ca_ops;
	fs->ca_ops = (u64)ops;
	fs->cc_words = 0;
	if (!ops || bpf_probe_read_kernel_str(key.name, sizeof(key.name), &ops->name) < 0)
		return 0;
	words = bpf_map_lookup_elem(&cc_words, &key);
	if (words)
		fs->cc_words = *words;
	return 0;
}

/* Makes the entry of a socket that is seen for the first time. NULL when the table is full, and for
 * a socket of a namespace that the filter excludes: it must not take the room of another. */
static __noinline struct flow_state *new_flow(u64 key, struct tcp_sock *tp, bool inherited)
{
	struct flow_state fresh = {}, *fs;

	if (!tp || !netns_passes(netns_of(tp)))
		return NULL;
	fresh.inherited = inherited;
	fresh.first_ns = bpf_ktime_get_ns();
	fresh.reason = reason_so_far(COMMON(tp).skc_state);
	private_state_of(&fresh, tp);
	fresh.undo_marker = tp->undo_marker;
	if (bpf_core_field_exists(tp->reord_seen))
		fresh.reord_seen = tp->reord_seen;
	fresh.retransmits = tp->total_retrans;
	fresh.delivered_ce = tp->delivered_ce;
	fresh.ca_state = BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_state);
	fresh.marker_state = fresh.ca_state;
	fresh.timeouts = tp->inet_conn.icsk_backoff;
	bpf_map_update_elem(&flows, &key, &fresh, BPF_NOEXIST);
	fs = bpf_map_lookup_elem(&flows, &key);
	if (!fs)
		count_untracked(key, tp);
	return fs;
}

/* Decides on a flow and announces it, unless both are done. False when no record of it shall be
 * sent. Those of an undecided flow are sent: user space holds them until it knows the verdict. */
static __noinline bool decide_flow(struct flow_state *fs, struct tcp_sock *tp)
{
	if (!fs || !tp)
		return false;
	if (lacks_owner(fs))
		refresh_owner(fs, tp);
	if (fs->verdict == VERDICT_NEW) {
		fs->verdict = evaluate_filter(fs, tp);
		if (fs->verdict == VERDICT_REJECT)
			return false;
		fs->id = new_flow_id();
		fs->announce = 1;
	} else if (fs->verdict == VERDICT_UNDECIDED) {
		u8 verdict = owner_verdict(fs);

		if (verdict != VERDICT_UNDECIDED) {
			fs->verdict = verdict;
			fs->announce = verdict == VERDICT_ACCEPT || fs->announced;
			fs->announced = 0;
		}
	}
	/* The record of this hook is lost if its flow cannot be announced. */
	if (fs->announce && !announce(fs, tp) && !fs->announced) {
		if (fs->verdict == VERDICT_ACCEPT)
			mon_count(COUNTER_LOST);
		return false;
	}
	return fs->verdict == VERDICT_ACCEPT || (fs->verdict == VERDICT_UNDECIDED && fs->held++ < MAX_HELD);
}

static __noinline int reject_flow(u64 key)
{
	u8 why = UNFOLLOWED_REJECTED;

	bpf_map_update_elem(&unfollowed, &key, &why, 0);
	bpf_map_delete_elem(&flows, &key);
	return 0;
}

/* The flow of a socket, created at first sight. NULL when it does not pass the filter, or when the
 * table or the ring is full. */
static __always_inline struct flow_state *flow_of(u64 key, struct tcp_sock *tp, bool inherited, bool by_process)
{
	struct flow_state *fs = bpf_map_lookup_elem(&flows, &key);

	if (!fs) {
		u8 *why = bpf_map_lookup_elem(&unfollowed, &key);

		if (why && *why == UNFOLLOWED_REJECTED)
			return NULL;
		fs = new_flow(key, tp, inherited);
		if (!fs)
			return NULL;
	}
	if (by_process && !fs->pid)
		own_by_current(fs);
	if ((fs->verdict != VERDICT_ACCEPT || lacks_owner(fs) || fs->announce) && !decide_flow(fs, tp)) {
		if (fs->verdict == VERDICT_REJECT)
			reject_flow(key);
		return NULL;
	}
	return fs;
}

static __always_inline void delete_flow(u64 key)
{
	bpf_map_delete_elem(&flows, &key);
	bpf_map_delete_elem(&unfollowed, &key);
}

/* The connection is over. No process has owned a flow that is undecided still: user space drops the
 * records that it holds. */
static __noinline int end_flow(u64 key, struct flow_state *fs, struct tcp_sock *tp)
{
	if (!fs || !tp)
		return 0;
	if (fs->verdict == VERDICT_UNDECIDED) {
		mon_count(COUNTER_UNOWNED);
		fs->verdict = VERDICT_REJECT;
		if (fs->announced)
			announce(fs, tp);
	}
	delete_flow(key);
	return 0;
}

#endif
