/* SPDX-License-Identifier: GPL-2.0 */
/* A packet as programs at the traffic-control hooks (clsact, TCX) see it, and their verdicts. */
#ifndef AIRTIDE_SKB_H
#define AIRTIDE_SKB_H

#include "integers.h"
#include "map.h"

/* The head of the structure in include/uapi/linux/bpf.h. */
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 queue_mapping;
	__u32 protocol;
	__u32 vlan_present;
	__u32 vlan_tci;
	__u32 vlan_proto;
	__u32 priority;
	__u32 ingress_ifindex;
	__u32 ifindex;
	__u32 tc_index;
	__u32 cb[5];
	__u32 hash;
	__u32 tc_classid;
	__u32 data;
	__u32 data_end;
	__u32 napi_id;
	__u32 family;
	__u32 remote_ip4;
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port;
	__u32 local_port;
	__u32 data_meta;
	__u64 flow_keys;
	__u64 tstamp;
	__u32 wire_len;
	__u32 gso_segs;
};

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define VERDICT_NEXT (-1) /* TC_ACT_UNSPEC and TCX_NEXT */
#define VERDICT_DROP 2 /* TC_ACT_SHOT and TCX_DROP */

#define ETHER_IP4 0x0800
#define ETHER_IP6 0x86dd

#endif
