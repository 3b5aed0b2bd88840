/* SPDX-License-Identifier: GPL-2.0 */
/* The records' way to user space: rings of slots of one size, in arrays that user space maps.
 *
 * The kernel's own ring buffer takes a lock and two atomic operations for each record, which was
 * the largest part of a sample's cost (docs/results/performance.md). Neither is needed here: a
 * processor has one ring for each level of nesting, so a ring has one writer at a time. A hook
 * on a process's behalf is level 0; a soft interrupt that comes meanwhile is level 1 and runs to
 * its end before the other goes on; the iterator over sockets, which alone may be preempted,
 * adds a level.
 *
 * A record counts once produced has grown beyond it. It is user space that waits long enough for
 * processors that reorder writes (internal/observe/bpf/ring.go). */
#ifndef AIRTIDE_RING_H
#define AIRTIDE_RING_H

#include "kernel.h"
#include "record.h"

/* Set by user space: slots of the ring of level 0 and of each further level, powers of two. */
volatile const u32 ring_slots = 1;
volatile const u32 nested_ring_slots = 1;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set by user space: RING_LEVELS for each processor */
	__type(key, u32);
	__type(value, struct ring_control);
} ring_controls SEC(".maps");

/* As large as a sample whose private state is the longest that user space can read: user space
 * sets it. */
struct slot {
	u8 bytes[sizeof(struct sample_record)];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set by user space: the slots of all rings, by processor and level */
	__type(key, u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} nesting SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, u32);
	__type(value, u64);
} counters SEC(".maps");

static __always_inline void mon_count(u32 which)
{
	u64 *n = bpf_map_lookup_elem(&counters, &which);

	if (n)
		(*n)++;
}

/* Begins a hook that may write records and returns its level. mon_leave() must end it. */
static __always_inline u32 mon_enter(void)
{
	u32 zero = 0, *depth = bpf_map_lookup_elem(&nesting, &zero);

	return depth ? (*depth)++ : 0;
}

static __always_inline void mon_leave(void)
{
	u32 zero = 0, *depth = bpf_map_lookup_elem(&nesting, &zero);

	if (depth)
		(*depth)--;
}

static __always_inline struct ring_control *own_ring(u32 *level, u32 *cpu)
{
	u32 zero = 0, which, *depth = bpf_map_lookup_elem(&nesting, &zero);

	if (!depth)
		return NULL;
	*level = *depth - 1;
	if (*level >= RING_LEVELS)
		return NULL;
	*cpu = bpf_get_smp_processor_id();
	which = *cpu * RING_LEVELS + *level;
	return bpf_map_lookup_elem(&ring_controls, &which);
}

/* Room for a record in the ring that is returned beside it; NULL, and counted, when the ring is
 * full. submit() comes before the next reserve(). */
static __always_inline void *reserve(struct ring_control **of)
{
	u32 level, cpu, at;
	struct ring_control *ring = own_ring(&level, &cpu);
	void *record = NULL;

	*of = ring;
	if (ring) {
		u32 size = level ? nested_ring_slots : ring_slots;
		u64 produced = ring->produced;

		if (produced - *(volatile u64 *)&ring->consumed < size) {
			at = cpu * (ring_slots + (RING_LEVELS - 1) * nested_ring_slots) + (produced & (size - 1));
			if (level)
				at += ring_slots + (level - 1) * nested_ring_slots;
			record = bpf_map_lookup_elem(&slots, &at);
		}
	}
	if (!record)
		mon_count(COUNTER_LOST);
	return record;
}

static __always_inline void submit(struct ring_control *ring)
{
	asm volatile("" ::: "memory"); /* the compiler must have written the record by now */
	*(volatile u64 *)&ring->produced = ring->produced + 1;
}

#endif
