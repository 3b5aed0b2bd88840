/* SPDX-License-Identifier: GPL-2.0 */
/* The filter by address, namespace and cgroup, and the sets of the filter by process, which flow.h
 * evaluates. */
#ifndef AIRTIDE_FILTER_H
#define AIRTIDE_FILTER_H

#include "socket.h"

struct prefix {
	u32 addr[4]; /* network order, IPv4 as v4-mapped */
	u32 mask[4];
};

#define MAX_FILTER 64
#define MAX_OWNERS 1024

volatile const u32 filter_ports_n;
volatile const u16 filter_ports[MAX_FILTER];
volatile const u32 filter_prefixes_n;
volatile const struct prefix filter_prefixes[MAX_FILTER];
volatile const u32 filter_netns_n;
volatile const u32 filter_netns[MAX_FILTER];
volatile const u32 filter_cgroups_n;
volatile const u64 filter_cgroups[MAX_FILTER];
volatile const u32 filter_pids_n;
volatile const u32 filter_comms_n;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_OWNERS);
	__type(key, u32);
	__type(value, u8);
} filter_pids SEC(".maps");

struct comm_key {
	char comm[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_OWNERS);
	__type(key, struct comm_key);
	__type(value, u8);
} filter_comms SEC(".maps");

static __always_inline bool prefix_holds(const volatile struct prefix *p, const u32 a[4])
{
	return !(((a[0] ^ p->addr[0]) & p->mask[0]) | ((a[1] ^ p->addr[1]) & p->mask[1]) |
		 ((a[2] ^ p->addr[2]) & p->mask[2]) | ((a[3] ^ p->addr[3]) & p->mask[3]));
}

static __always_inline void v4_mapped(u32 to[4], const u32 from[4], u16 family)
{
	if (family == AF_INET6) {
		__builtin_memcpy(to, from, 16);
		return;
	}
	to[0] = 0;
	to[1] = 0;
	to[2] = bpf_htonl(0xffff);
	to[3] = from[0];
}

static __noinline bool address_passes(struct addresses *a)
{
	u32 local[4], remote[4];
	bool ok;

	if (!a)
		return false;
	if (filter_ports_n) {
		ok = false;
		for (u32 i = 0; i < MAX_FILTER && i < filter_ports_n; i++)
			if (filter_ports[i] == a->local_port || filter_ports[i] == a->remote_port) {
				ok = true;
				break;
			}
		if (!ok)
			return false;
	}
	if (filter_prefixes_n) {
		v4_mapped(local, a->local, a->family);
		v4_mapped(remote, a->remote, a->family);
		ok = false;
		for (u32 i = 0; i < MAX_FILTER && i < filter_prefixes_n; i++)
			if (prefix_holds(&filter_prefixes[i], local) || prefix_holds(&filter_prefixes[i], remote)) {
				ok = true;
				break;
			}
		if (!ok)
			return false;
	}
	return true;
}

/* Reports whether one of the first n entries of a list is the value. */
#define listed(list, n, value)                                                                                         \
	({                                                                                                             \
		bool __found = false;                                                                                  \
		for (u32 __i = 0; __i < MAX_FILTER && __i < (n); __i++)                                                \
			if ((list)[__i] == (value)) {                                                                  \
				__found = true;                                                                        \
				break;                                                                                 \
			}                                                                                              \
		__found;                                                                                               \
	})

static __always_inline bool netns_passes(u32 inum)
{
	return !filter_netns_n || listed(filter_netns, filter_netns_n, inum);
}

/* Reports whether the filter excludes the namespace of a socket. The frequent hooks check it first:
 * with one monitor in each of many namespaces, each segment would otherwise cost a look-up in the
 * table of every monitor. */
static __always_inline bool netns_excluded(const struct sock *sk)
{
	return filter_netns_n && !netns_passes(sk->__sk_common.skc_net.net->ns.inum);
}

/* The same for a pointer that the verifier does not follow. */
static __always_inline bool copied_netns_excluded(const struct sock *sk)
{
	struct net *net = NULL;
	u32 inum = 0;

	if (!filter_netns_n)
		return false;
	read_field(net, sk->__sk_common.skc_net.net);
	read_field(inum, net->ns.inum);
	return !netns_passes(inum);
}

#define MAX_CGROUP_DEPTH 16

static __always_inline bool cgroup_passes(struct cgroup *cgrp)
{
	if (!filter_cgroups_n)
		return true;
	for (int depth = 0; depth < MAX_CGROUP_DEPTH && cgrp; depth++) {
		struct cgroup_subsys_state *parent = NULL;
		u64 id = cgroup_id(cgrp);

		if (listed(filter_cgroups, filter_cgroups_n, id))
			return true;
		read_field(parent, cgrp->self.parent);
		cgrp = NULL;
		if (parent)
			read_field(cgrp, parent->cgroup);
	}
	return false;
}

#endif
