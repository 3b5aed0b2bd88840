/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of the kernel's structures that airtide reads. Offsets are filled in at load from
 * the running kernel's BTF (CO-RE), so only names and types matter here; the order and what is
 * left out do not. Fields that a kernel may lack are read behind bpf_core_field_exists. */
#ifndef AIRTIDE_KERNEL_H
#define AIRTIDE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "ca_state.h"
#include "cgroup.h"
#include "integers.h"
#include "map.h"

#include <bpf/bpf_helpers.h>

struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	atomic_t refs;
} refcount_t;

struct in6_addr {
	u8 bytes[16];
};

struct ns_common {
	unsigned int inum;
};

struct netns_ipv4 {
	int sysctl_tcp_wmem[3];
};

struct net {
	struct ns_common ns;
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

/* Up to 5.14 a tagged word: bit 0 set means that it holds a class id and no pointer. */
struct sock_cgroup_data___old {
	u64 val;
};

struct inode {
	unsigned long i_ino;
};

struct file {
	struct inode *f_inode;
};

struct socket {
	unsigned long flags;
	struct file *file;
};

struct timer_list {
	unsigned long expires;
};

struct sock {
	struct sock_common __sk_common;
	struct {
		atomic_t rmem_alloc;
		int len;
	} sk_backlog;
	int sk_rcvbuf;
	int sk_sndbuf;
	int sk_err;
	int sk_err_soft;
	int sk_wmem_queued;
	refcount_t sk_wmem_alloc;
	int sk_forward_alloc;
	unsigned long sk_pacing_rate;
	unsigned long sk_tsq_flags;
	u16 sk_protocol;
	u8 sk_shutdown;
	u8 sk_userlocks;
	struct socket *sk_socket;
	struct sock_cgroup_data sk_cgrp_data;
	struct timer_list tcp_retransmit_timer;
};

struct inet_sock {
	struct sock sk;
	__be16 inet_sport;
};

struct tcp_congestion_ops {
	char name[16];
};

/* When the retransmission timer runs out: icsk_timeout, then icsk_retransmit_timer.expires, then
 * sk.tcp_retransmit_timer.expires in the newest kernels. */
struct inet_connection_sock {
	struct inet_sock icsk_inet;
	struct timer_list icsk_retransmit_timer;
	unsigned long icsk_timeout;
	__u32 icsk_rto;
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_state : 5;
	u8 icsk_retransmits;
	u8 icsk_pending;
	u8 icsk_backoff;
	u64 icsk_ca_priv[13];
};

struct minmax_sample {
	u32 t;
	u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_options_received {
	u16 tstamp_ok : 1;
	u16 snd_wscale : 4;
	u16 rcv_wscale : 4;
};

struct tcp_rack {
	u32 rtt_us;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	struct tcp_options_received rx_opt;
	struct tcp_rack rack;
	struct minmax rtt_min;
	struct {
		u32 rtt_us;
	} rcv_rtt_est;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 packets_out;
	u32 lost_out;
	u32 sacked_out;
	u32 retrans_out;
	u32 reordering;
	u32 reord_seen;
	u32 mss_cache;
	u32 srtt_us;
	u32 mdev_us;
	u32 snd_wnd;
	u32 rcv_wnd;
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 rcv_nxt;
	u32 copied_seq;
	u64 bytes_acked;
	u64 bytes_received;
	u64 bytes_retrans;
	u32 rcv_ooopack;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 total_retrans;
	u32 dsack_dups;
	u32 rate_delivered;
	u32 rate_interval_us;
	u8 rate_app_limited : 1;
	u8 is_cwnd_limited : 1;
	u32 chrono_start;
	u32 chrono_stat[3];
	u8 chrono_type : 2;
	u8 tlp_retrans : 1;
	u32 prior_ssthresh;
	u32 undo_marker;
	int undo_retrans;
	u32 tlp_high_seq;
	u8 ecn_flags;
	bool is_mptcp;
};

struct bpf_iter__tcp {
	struct sock_common *sk_common;
};

struct task_struct {
	unsigned int flags;
	struct task_struct *group_leader;
	char comm[16];
};

/* include/linux/tcp.h */
union tcp_word_hdr {
	__be32 words[5];
};

struct tcp_skb_cb {
	u32 seq;
	u32 end_seq;
	u32 ack_seq;
};

struct net_device {
	char name[16];
	int ifindex;
	possible_net_t nd_net;
};

struct sk_buff {
	unsigned int len;
	unsigned char *head;
	u16 transport_header;
	u16 network_header;
	__be16 protocol;
	u64 tstamp;
	struct sock *sk;
	struct net_device *dev;
	char cb[48];
	unsigned int end; /* of 64-bit kernels */
};

struct skb_shared_info {
	unsigned short gso_segs;
};

/* A connection that has no socket yet, at the listening end. */
struct request_sock {
	struct sock_common __req_common;
};

struct tcp_request_sock {
	u64 snt_synack; /* time of the first SYN-ACK, us */
};

#pragma clang attribute pop

/* Kernel 6.2: the pointer as one to a structure of the type, without checks. */
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

/* Reads a field of a structure: by a load where the kernel has the cast, which takes less time, and
 * else by a copy. */
#define load_field(to, structure, pointer, field)                                                                      \
	do {                                                                                                           \
		if (bpf_rdonly_cast)                                                                                   \
			to = ((structure *)bpf_rdonly_cast(pointer, bpf_core_type_id_kernel(structure)))->field;       \
		else                                                                                                   \
			bpf_probe_read_kernel(&(to), sizeof(to), (const void *)&((structure *)pointer)->field);        \
	} while (0)

#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define ETH_P_IP 0x0800

/* include/linux/sched.h */
#define PF_KTHREAD 0x00200000

/* include/net/sock.h */
#define SHUTDOWN_MASK 3
#define SOCK_SNDBUF_LOCK 1
#define SOCK_RCVBUF_LOCK 2

/* include/linux/net.h: bit of flags, while a writer waits for room in the send buffer */
#define SOCK_NOSPACE 2

/* include/linux/tcp.h: bit of sk_tsq_flags, while TCP waits for the own device */
#define TSQ_THROTTLED 1

/* include/net/tcp_states.h */
enum {
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT,
	TCP_SYN_RECV,
	TCP_FIN_WAIT1,
	TCP_FIN_WAIT2,
	TCP_TIME_WAIT,
	TCP_CLOSE,
	TCP_CLOSE_WAIT,
	TCP_LAST_ACK,
	TCP_LISTEN,
	TCP_CLOSING,
	TCP_NEW_SYN_RECV,
};

/* include/linux/tcp.h, enum tcp_chrono */
enum {
	TCP_CHRONO_BUSY = 1,
};

/* include/net/inet_connection_sock.h */
enum {
	ICSK_TIME_RETRANS = 1,
	ICSK_TIME_LOSS_PROBE = 5,
	ICSK_TIME_REO_TIMEOUT = 6,
};

/* include/net/tcp.h, bits of ecn_flags: the name was TCP_ECN_OK before AccECN came (6.18) */
enum {
	TCP_ECN_MODE_RFC3168 = 1,
};

/* include/uapi/asm-generic/errno.h */
enum {
	ECONNABORTED = 103,
	ECONNRESET = 104,
	ETIMEDOUT = 110,
	ECONNREFUSED = 111,
	EHOSTUNREACH = 113,
	ENETUNREACH = 101,
	EPIPE = 32,
};

#endif
