// SPDX-License-Identifier: GPL-2.0
/* Functions of the kernel that are not exported. */
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "timewarp.h"

#ifndef CONFIG_KPROBES
#error "timewarp needs a kernel with CONFIG_KPROBES=y, to find functions that are not exported"
#endif

/* How far the address lies behind the beginning of its function, which is what %pS prints:
 * name+0x4/0x20. */
static bool offset_in_function(void *at, unsigned long *offset)
{
	char *place = kasprintf(GFP_KERNEL, "%pS", at);
	char *plus = place ? strrchr(place, '+') : NULL;
	bool found = plus && sscanf(plus, "+0x%lx/", offset) == 1;

	kfree(place);
	return found;
}

/* Finds a function by a probe that is never armed. The probe's address may lie behind a landing
 * pad (ENDBR), so the beginning is computed from it. NULL if there is no such function. */
void *find_function(const char *name)
{
	struct kprobe probe = {
		.symbol_name = name,
		.flags = KPROBE_FLAG_DISABLED,
	};
	unsigned long offset;
	char *at;

	if (register_kprobe(&probe))
		return NULL;
	at = (char *)probe.addr;
	unregister_kprobe(&probe);
	return offset_in_function(at, &offset) ? at - offset : NULL;
}
