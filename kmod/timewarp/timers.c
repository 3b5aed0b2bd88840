// SPDX-License-Identifier: GPL-2.0
/* The timers: each CPU's clock event device is told a false frequency, by the kernel's own
 * function for that.
 *
 * Functions that are not exported are called by static calls, which become direct calls where
 * the architecture has them: an indirect call would fault on a processor that checks landing
 * pads (IBT), since the kernel removes those of functions that it never calls indirectly. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/clockchips.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/static_call.h>

#include "timewarp.h"

/* The CFI of kernels before 6.1 refuses calls to functions that were found by their name. */
#ifndef __nocfi
#define __nocfi
#endif

/* kernel/time/tick-sched.h, which modules do not see, has a mode behind it. */
struct tick_device {
	struct clock_event_device *evtdev;
};
struct tick_device *tick_get_device(int cpu);
struct tick_device *tick_get_broadcast_device(void);

DEFINE_STATIC_CALL_NULL(device_of, tick_get_device);
DEFINE_STATIC_CALL_NULL(broadcast_device, tick_get_broadcast_device);
DEFINE_STATIC_CALL_NULL(update_freq, clockevents_update_freq);
static bool has_broadcast;

/* A clock event device as it was before it was told a false frequency. */
struct timer {
	struct clock_event_device *dev;
	u32 freq, mult, shift;
	u64 min_delta_ns, max_delta_ns;
};

static DEFINE_PER_CPU(struct timer, timers);
static struct timer broadcast;
static struct ratio ratio = {1, 1}; /* guarded by the lock of CPU hotplug */
static bool started;
static enum cpuhp_state hotplug;

/* Notes a device that has its true frequency. One that has no ticks of its own is left alone. */
static void adopt(struct timer *t, struct clock_event_device *dev)
{
	t->dev = NULL;
	if (!dev || !dev->mult || !(dev->features & CLOCK_EVT_FEAT_ONESHOT) ||
	    dev->features & (CLOCK_EVT_FEAT_DUMMY | CLOCK_EVT_FEAT_HRTIMER))
		return;
	t->freq = (u64)dev->mult * NSEC_PER_SEC >> dev->shift;
	t->mult = dev->mult;
	t->shift = dev->shift;
	t->min_delta_ns = dev->min_delta_ns;
	t->max_delta_ns = dev->max_delta_ns;
	t->dev = dev;
}

/* Rounds down, and stops at what fits: then interrupts come early. */
static u32 false_freq(const struct timer *t, struct ratio r)
{
	return clamp_t(u64, div_u64((u64)t->freq * r.den, r.num), 1, U32_MAX);
}

/* Tells the device of a timer its frequency, or of one that it has not seen yet, unless there is
 * none. */
static __nocfi void warp_timer(struct timer *t, struct clock_event_device *dev, struct ratio r)
{
	if (dev != t->dev)
		adopt(t, dev);
	if (!t->dev)
		return;
	static_call(update_freq)(dev, false_freq(t, r));
	if (same(r, one)) { /* to the last bit, which the way by the frequency does not promise */
		dev->mult = t->mult;
		dev->shift = t->shift;
		dev->min_delta_ns = t->min_delta_ns;
		dev->max_delta_ns = t->max_delta_ns;
	}
}

/* The timer of this CPU. Interrupts are off. */
static __nocfi void warp_this_cpu(struct ratio r)
{
	warp_timer(this_cpu_ptr(&timers), static_call(device_of)(smp_processor_id())->evtdev, r);
}

static void warp_from_ipi(void *unused)
{
	warp_this_cpu(ratio);
}

/* The device that wakes CPUs whose own timers stop when they sleep. */
static __nocfi void warp_broadcast(struct ratio r)
{
	warp_timer(&broadcast, has_broadcast ? static_call(broadcast_device)()->evtdev : NULL, r);
}

/* Makes timers run r times as fast as they are. */
void warp_timers(struct ratio r)
{
	cpus_read_lock();
	ratio = r;
	on_each_cpu(warp_from_ipi, NULL, 1);
	warp_broadcast(r);
	cpus_read_unlock();
}

/* A CPU that comes has set up its timer anew, at its true frequency; at first it ticks
 * periodically. */
static __nocfi int cpu_comes(unsigned int cpu)
{
	struct clock_event_device *dev;
	unsigned long flags;
	int err = 0;

	local_irq_save(flags);
	dev = static_call(device_of)(cpu)->evtdev;
	if (!started && dev && dev->state_use_accessors == CLOCK_EVT_STATE_PERIODIC)
		err = -EOPNOTSUPP;
	adopt(this_cpu_ptr(&timers), dev);
	if (!same(ratio, one))
		warp_this_cpu(ratio);
	local_irq_restore(flags);
	return err;
}

static int cpu_goes(unsigned int cpu)
{
	unsigned long flags;

	local_irq_save(flags);
	warp_this_cpu(one);
	local_irq_restore(flags);
	return 0;
}

int start_timers(void)
{
	typeof(&tick_get_device) device = find_function("tick_get_device");
	typeof(&tick_get_broadcast_device) wake = find_function("tick_get_broadcast_device");
	typeof(&clockevents_update_freq) freq = find_function("clockevents_update_freq");
	int state;

	if (!device || !freq) {
		pr_err("this kernel has no function %s\n", device ? "clockevents_update_freq" : "tick_get_device");
		return -ENOENT;
	}
	static_call_update(device_of, device);
	static_call_update(update_freq, freq);
	has_broadcast = wake; /* absent where timers never stop */
	if (wake)
		static_call_update(broadcast_device, wake);
	state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, KBUILD_MODNAME ":online", cpu_comes, cpu_goes);
	if (state == -EOPNOTSUPP)
		pr_err("timers tick periodically (nohz=off highres=off): they cannot be warped\n");
	if (state < 0)
		return state;
	hotplug = state;
	started = true;
	return 0;
}

/* Gives every timer back as it was. */
void stop_timers(void)
{
	cpuhp_remove_state(hotplug);
	warp_broadcast(one);
}
