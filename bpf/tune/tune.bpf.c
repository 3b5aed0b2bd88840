// SPDX-License-Identifier: GPL-2.0
/* Limits on TCP sockets. The walk (iter/tcp) lists, changes, reads and releases sockets that are
 * there; the hooks (sock_ops) change those that begin. */
#include "tune.h"
#include "change.h"

char LICENSE[] SEC("license") = "GPL";

/* The filter's namespaces again, by their cookies: what a handshake without a socket tells. */
volatile const u64 filter_netns_cookies[MAX_FILTER];

/* Selection of sockets. */

static __always_inline bool by_process(void)
{
	return filter_pids_n || filter_comms_n;
}

/* Ports at which the chosen processes listen: an accepted socket begins outside any process. */
struct listening {
	u64 netns_cookie;
	u32 port;
	u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct listening);
	__type(value, u8);
} listening_ports SEC(".maps");

/* Sockets that user space has found to be the chosen processes', by cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 262144);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u64);
	__type(value, u8);
} chosen SEC(".maps");

static __always_inline bool current_passes(void)
{
	struct task_struct *task = (void *)bpf_get_current_task(), *leader = NULL;
	struct task_struct___tune *tt = (void *)task;
	struct comm_key comm = {};
	u32 tgid = 0;

	bpf_probe_read_kernel(&tgid, sizeof(tgid), &tt->tgid);
	if (filter_pids_n && !bpf_map_lookup_elem(&filter_pids, &tgid))
		return false;
	if (!filter_comms_n)
		return true;
	read_field(leader, task->group_leader);
	if (!leader || bpf_probe_read_kernel_str(comm.comm, sizeof(comm.comm), &leader->comm) < 0)
		return false;
	return bpf_map_lookup_elem(&filter_comms, &comm) != NULL;
}

static __always_inline bool socket_passes(struct tcp_sock *tp)
{
	struct addresses a = {};

	read_addresses(tp, &a);
	return address_passes(&a) && netns_passes(netns_of(tp)) && cgroup_passes(cgroup_pointer(tp));
}

/* Existing sockets. */

enum tune_mode {
	TUNE_LIST, /* the sockets that pass, without their processes being asked */
	TUNE_APPLY, /* changes them */
	TUNE_READ, /* what tunes have set, and what is there now; session 0 for all tunes */
	TUNE_HOLD, /* sets window clamps anew that the kernel has moved */
	TUNE_RELEASE, /* takes a tune's changes back */
};

struct tune_walk {
	u64 session;
	u32 mode;
	u32 tick_us;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct tune_walk);
} walk_order SEC(".maps");

/* The record of a walk about a socket, for each tune that has changed it. */
struct tune_record {
	u64 cookie;
	u64 netns_cookie;
	u64 inode;
	u64 cgroup;
	u32 local[4];
	u32 remote[4];
	u32 netns;
	u32 superseded; /* settings that a later tune has set */
	u16 local_port;
	u16 remote_port;
	u16 family;
	u8 state;
	u8 bounded; /* runs cubic_bound */
	u32 cwnd;
	u32 ssthresh;
	u32 rto; /* ticks */
	char cc[16];
	s64 now[TUNE_SETTINGS];
	struct tune_slot slot;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct tune_record);
} scratch SEC(".maps");

static __always_inline struct tune_record *describe(struct tcp_sock *tp, u64 cookie)
{
	struct net___tune *net = (void *)COMMON(tp).skc_net.net;
	struct addresses a = {};
	struct tune_bounds b;
	struct tune_record *r;
	struct tune_name cc;
	u32 zero = 0;

	r = bpf_map_lookup_elem(&scratch, &zero);
	if (!r)
		return NULL;
	__builtin_memset(r, 0, sizeof(*r));
	read_addresses(tp, &a);
	r->cookie = cookie;
	read_field(r->netns_cookie, net->net_cookie);
	r->inode = inode_of(tp);
	r->cgroup = cgroup_id(cgroup_pointer(tp));
	__builtin_memcpy(r->local, a.local, 16);
	__builtin_memcpy(r->remote, a.remote, 16);
	r->local_port = a.local_port;
	r->remote_port = a.remote_port;
	r->family = a.family;
	r->netns = netns_of(tp);
	r->state = COMMON(tp).skc_state;
	r->cwnd = tp->snd_cwnd;
	r->ssthresh = tp->snd_ssthresh;
	r->rto = tp->inet_conn.icsk_rto;
	cc_name_of(tp, cc.name);
	__builtin_memcpy(r->cc, cc.name, 16);
	r->bounded = bounds_of(&cc, cookie, &b);
	read_all(tp, cookie, &cc, r->now);
	return r;
}

static __always_inline int list_socket(struct seq_file *seq, struct tcp_sock *tp, u64 cookie)
{
	struct tune_record *r = describe(tp, cookie);

	if (r)
		bpf_seq_write(seq, r, sizeof(*r));
	return 0;
}

/* The settings of a tune that a later one has set too. */
TUNE_APART u32 superseded(struct tuned *t, u64 session)
{
	struct tune_slot *s;
	u32 mask = 0;

	if (!t)
		return 0;
	s = slot_of(t, session);
	if (!s)
		return 0;
	for (u32 x = 0; x < TUNE_SETTINGS; x++)
		if (has(&s->mask, x) && next_after(t, s, BIT(x)))
			mask |= BIT(x);
	if (has(&s->mask, TUNE_CC) && next_after(t, s, BIT(TUNE_CC)))
		mask |= BIT(TUNE_CC);
	return mask;
}

static __always_inline int read_socket(struct seq_file *seq, struct tcp_sock *tp, u64 cookie, struct tuned *t,
				       u64 session)
{
	struct tune_record *r = describe(tp, cookie);

	if (!r)
		return 0;
	for (int i = 0; i < TUNE_SLOTS; i++) {
		struct tune_slot *s = &t->slots[i];

		if (!s->session || (session && s->session != session))
			continue;
		r->slot = *s;
		r->superseded = superseded(t, s->session);
		bpf_seq_write(seq, r, sizeof(*r));
	}
	return 0;
}

static __always_inline bool can_change(u8 state)
{
	return state == TCP_ESTABLISHED || state == TCP_CLOSE_WAIT || state == TCP_FIN_WAIT1 ||
	       state == TCP_FIN_WAIT2 || state == TCP_CLOSING || state == TCP_LAST_ACK;
}

static __always_inline int apply_to_socket(struct tcp_sock *tp, u64 cookie, struct tune_config *c)
{
	u8 state = COMMON(tp).skc_state;
	struct tune_slot *s;
	struct tuned *t;

	if (!can_change(state) && state != TCP_SYN_SENT)
		return 0;
	if (by_process() && !bpf_map_lookup_elem(&chosen, &cookie))
		return 0;
	t = bpf_sk_storage_get(&tuned_sockets, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!t) {
		tune_count(TUNE_COUNT_NO_ROOM);
		return 0;
	}
	s = begin_slot(t, c->session, state == TCP_SYN_SENT ? TUNE_NEW | TUNE_PENDING : 0);
	if (s && can_change(state))
		change(tp, tp, cookie, t, c, c->mask);
	return 0;
}

/* The input of a step of a walk: the socket and the order. */
struct step {
	struct tcp_sock *tp;
	struct tune_config *c;
	struct tune_walk *w;
	u64 cookie;
	u8 state;
};

static __always_inline bool begin_step(struct bpf_iter__tcp___tune *ctx, struct step *step)
{
	struct sock_common *skc = ctx->sk_common;
	u32 zero = 0;

	step->w = bpf_map_lookup_elem(&walk_order, &zero);
	step->c = bpf_map_lookup_elem(&config, &zero);
	if (!skc || !step->w || !step->c)
		return false;
	step->tp = bpf_skc_to_tcp_sock(skc);
	if (!step->tp)
		return false;
	step->state = COMMON(step->tp).skc_state;
	if (step->state == TCP_CLOSE || step->state == TCP_SYN_RECV)
		return false;
	step->cookie = bpf_get_socket_cookie(step->tp);
	return true;
}

SEC("iter/tcp")
int walk_apply(struct bpf_iter__tcp___tune *ctx)
{
	struct step step;

	if (!begin_step(ctx, &step) || !socket_passes(step.tp))
		return 0;
	if (step.w->mode == TUNE_LIST)
		return list_socket(ctx->meta->seq, step.tp, step.cookie);
	return apply_to_socket(step.tp, step.cookie, step.c);
}

static __always_inline void hold(struct tcp_sock *tp, struct tuned *t, struct tune_slot *s)
{
	struct tcp_sock___tune *tt = (void *)tp;

	if (!(s->mask & BIT(TUNE_WINDOW_CLAMP)) || tt->window_clamp == s->want[TUNE_WINDOW_CLAMP] ||
	    next_after(t, s, BIT(TUNE_WINDOW_CLAMP)))
		return;
	set_option(tp, TUNE_WINDOW_CLAMP, s->want[TUNE_WINDOW_CLAMP]);
	s->left[TUNE_WINDOW_CLAMP] = tt->window_clamp;
	tune_count(TUNE_COUNT_HELD);
}

SEC("iter/tcp")
int walk_read(struct bpf_iter__tcp___tune *ctx)
{
	struct tune_slot *s;
	struct step step;
	struct tuned *t;

	if (!begin_step(ctx, &step))
		return 0;
	t = bpf_sk_storage_get(&tuned_sockets, step.tp, 0, 0);
	if (!t)
		return 0;
	if (step.w->mode == TUNE_READ)
		return read_socket(ctx->meta->seq, step.tp, step.cookie, t, step.w->session);
	s = slot_of(t, step.w->session);
	if (s)
		hold(step.tp, t, s);
	return 0;
}

SEC("iter/tcp")
int walk_release(struct bpf_iter__tcp___tune *ctx)
{
	struct step step;
	struct tuned *t;

	if (!begin_step(ctx, &step))
		return 0;
	t = bpf_sk_storage_get(&tuned_sockets, step.tp, 0, 0);
	if (t && slot_of(t, step.w->session))
		release(step.tp, step.tp, step.cookie, t, step.w->session, step.w->tick_us);
	return 0;
}

/* New sockets. */

/* The part of a hook's context that is read. include/uapi/linux/bpf.h; not relocated. */
struct bpf_sock;

struct bpf_sock_ops {
	__u32 op;
	union {
		__u32 args[4];
		__u32 reply;
	};
	__u32 family;
	__u32 remote_ip4; /* these in network order */
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port;
	__u32 local_port; /* in host order */
	__u32 is_fullsock;
	__u32 not_read[22];
	__u64 bytes_received;
	__u64 bytes_acked;
	struct bpf_sock *sk;
};

enum {
	BPF_SOCK_OPS_TIMEOUT_INIT = 1,
	BPF_SOCK_OPS_TCP_CONNECT_CB = 3,
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_TCP_LISTEN_CB = 11,
};

static __always_inline bool listener_passes(struct bpf_sock_ops *ctx)
{
	struct listening key = {.netns_cookie = bpf_get_netns_cookie(ctx), .port = ctx->local_port};

	return bpf_map_lookup_elem(&listening_ports, &key) != NULL;
}

/* A process begins to listen. */
static __always_inline int note_listener(struct bpf_sock_ops *ctx)
{
	struct listening key = {.netns_cookie = bpf_get_netns_cookie(ctx), .port = ctx->local_port};
	u8 one = 1;

	if (!by_process())
		return 1;
	if (current_passes())
		bpf_map_update_elem(&listening_ports, &key, &one, 0);
	else
		bpf_map_delete_elem(&listening_ports, &key);
	return 1;
}

static __always_inline bool netns_cookie_passes(u64 cookie)
{
	return !filter_netns_n || listed(filter_netns_cookies, filter_netns_n, cookie);
}

/* A handshake begins: actively in its process, passively with a request that is no socket yet. */
static __always_inline int begin_handshake(struct bpf_sock_ops *ctx, struct tune_config *c)
{
	struct addresses a = {};

	if (!c->initial_rto)
		return 1;
	a.family = ctx->family;
	a.local_port = ctx->local_port;
	a.remote_port = bpf_ntohl(ctx->remote_port);
	if (a.family == AF_INET6) {
		for (int i = 0; i < 4; i++) {
			a.local[i] = ctx->local_ip6[i];
			a.remote[i] = ctx->remote_ip6[i];
		}
	} else {
		a.local[0] = ctx->local_ip4;
		a.remote[0] = ctx->remote_ip4;
	}
	if (!address_passes(&a) || !netns_cookie_passes(bpf_get_netns_cookie(ctx)))
		return 1;
	if (by_process() && !(ctx->is_fullsock ? current_passes() : listener_passes(ctx)))
		return 1;
	ctx->reply = c->initial_rto;
	tune_count(TUNE_COUNT_INITIAL_RTO);
	return 1;
}

SEC("sockops")
int tune_new(struct bpf_sock_ops *ctx)
{
	struct tune_config *c;
	struct tcp_sock *tp;
	struct tune_slot *s;
	struct tuned *t;
	u32 op = ctx->op, zero = 0;
	struct bpf_sock *sk;
	u64 cookie;

	c = bpf_map_lookup_elem(&config, &zero);
	if (!c)
		return 1;
	if (op == BPF_SOCK_OPS_TIMEOUT_INIT)
		return begin_handshake(ctx, c);
	if (op == BPF_SOCK_OPS_TCP_LISTEN_CB)
		return note_listener(ctx);
	if ((!c->mask && !(c->flags & TUNE_FOLLOW)) ||
	    (op != BPF_SOCK_OPS_TCP_CONNECT_CB && op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB &&
	     op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB))
		return 1;
	sk = ctx->sk;
	if (!sk)
		return 1;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp || !socket_passes(tp))
		return 1;
	if (by_process()) {
		if (op == BPF_SOCK_OPS_TCP_CONNECT_CB && !current_passes())
			return 1;
		if (op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB && !listener_passes(ctx))
			return 1;
		if (op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB) {
			t = bpf_sk_storage_get(&tuned_sockets, sk, 0, 0);
			if (!t || !slot_of(t, c->session))
				return 1;
		}
	}
	t = bpf_sk_storage_get(&tuned_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!t) {
		tune_count(TUNE_COUNT_NO_ROOM);
		return 1;
	}
	s = begin_slot(t, c->session, TUNE_NEW | TUNE_PENDING);
	if (!s)
		return 1;
	cookie = bpf_get_socket_cookie(ctx);
	/* While it connects only its timeouts count. */
	if (op == BPF_SOCK_OPS_TCP_CONNECT_CB) {
		change(ctx, tp, cookie, t, c, c->mask & (BIT(TUNE_RTO_MIN) | BIT(TUNE_RTO_MAX)));
		return 1;
	}
	s->flags &= ~TUNE_PENDING;
	change(ctx, tp, cookie, t, c, c->mask);
	return 1;
}

const struct tune_record *unused_record __attribute__((unused));
const enum tune_setting *unused_setting __attribute__((unused));
const enum tune_mode *unused_mode __attribute__((unused));
const enum tune_count *unused_count __attribute__((unused));
const enum tune_slot_flags *unused_flags __attribute__((unused));
const enum tune_config_flags *unused_config_flags __attribute__((unused));
