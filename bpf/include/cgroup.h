/* SPDX-License-Identifier: GPL-2.0 */
/* The parts of the kernel's structures that lead from a socket to its cgroup and to those above;
 * placed by CO-RE. */
#ifndef AIRTIDE_CGROUP_H
#define AIRTIDE_CGROUP_H

#include "integers.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

#pragma clang attribute pop

#endif
