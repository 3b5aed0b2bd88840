/* SPDX-License-Identifier: GPL-2.0 */
/* The identity of a socket: addresses, network namespace, cgroup, inode. */
#ifndef AIRTIDE_SOCKET_H
#define AIRTIDE_SOCKET_H

#include "kernel.h"

/* Reads a field through a pointer. It works on a BTF pointer and on one that was copied. */
#define read_field(to, from) bpf_probe_read_kernel(&(to), sizeof(to), &(from))

#define SK(tp) ((tp)->inet_conn.icsk_inet.sk)
#define COMMON(tp) (SK(tp).__sk_common)

static __always_inline u32 netns_of(struct tcp_sock *tp)
{
	struct net *net = COMMON(tp).skc_net.net;
	u32 inum = 0;

	read_field(inum, net->ns.inum);
	return inum;
}

static __always_inline struct cgroup *cgroup_pointer(struct tcp_sock *tp)
{
	if (bpf_core_field_exists(((struct sock_cgroup_data *)0)->cgroup)) {
		struct cgroup *cgrp = NULL;

		bpf_probe_read_kernel(&cgrp, sizeof(cgrp), &SK(tp).sk_cgrp_data.cgroup);
		return cgrp;
	}
	if (bpf_core_field_exists(((struct sock_cgroup_data___old *)0)->val)) {
		u64 val = 0;

		bpf_probe_read_kernel(&val, sizeof(val), &SK(tp).sk_cgrp_data);
		if (!(val & 1))
			return (struct cgroup *)val;
	}
	return NULL;
}

static __always_inline u64 cgroup_id(struct cgroup *cgrp)
{
	struct kernfs_node *kn = NULL;
	u64 id = 0;

	if (!cgrp)
		return 0;
	read_field(kn, cgrp->kn);
	if (kn)
		read_field(id, kn->id);
	return id;
}

/* The inode of the socket as /proc/PID/fd shows it; 0 before accept() and after close(). */
static __always_inline u64 inode_of(struct tcp_sock *tp)
{
	struct socket *socket = SK(tp).sk_socket;
	struct file *file = NULL;
	struct inode *inode = NULL;
	u64 ino = 0;

	if (!socket)
		return 0;
	read_field(file, socket->file);
	if (!file)
		return 0;
	read_field(inode, file->f_inode);
	if (!inode)
		return 0;
	read_field(ino, inode->i_ino);
	return ino;
}

struct addresses {
	u32 local[4];
	u32 remote[4];
	u16 local_port;
	u16 remote_port;
	u16 family;
};

static __always_inline void read_addresses(struct tcp_sock *tp, struct addresses *a)
{
	a->family = COMMON(tp).skc_family;
	a->local_port = COMMON(tp).skc_num;
	if (!a->local_port) /* already given back by tcp_set_state, which comes before the hook */
		a->local_port = bpf_ntohs(tp->inet_conn.icsk_inet.inet_sport);
	a->remote_port = bpf_ntohs(COMMON(tp).skc_dport);
	if (a->family == AF_INET6) {
		bpf_probe_read_kernel(a->local, 16, &COMMON(tp).skc_v6_rcv_saddr);
		bpf_probe_read_kernel(a->remote, 16, &COMMON(tp).skc_v6_daddr);
	} else {
		a->local[0] = COMMON(tp).skc_rcv_saddr;
		a->remote[0] = COMMON(tp).skc_daddr;
	}
}

#endif
