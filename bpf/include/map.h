/* SPDX-License-Identifier: GPL-2.0 */
/* Kinds of maps and their flags, as include/uapi/linux/bpf.h numbers them. */
#ifndef AIRTIDE_MAP_H
#define AIRTIDE_MAP_H

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_HASH_OF_MAPS = 13,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1 << 10,
};

/* Of an update. */
enum {
	BPF_NOEXIST = 1,
};

/* Of a look into the storage of a socket. */
enum {
	BPF_SK_STORAGE_GET_F_CREATE = 1,
};

#endif
