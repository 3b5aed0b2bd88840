// SPDX-License-Identifier: GPL-2.0
/* The clock source "timewarp": the machine's own counter, declared at a false frequency.
 *
 * A clock source's frequency cannot change while it is registered. So a change registers a
 * second one of the same name and then takes the first one away, upon which the kernel falls
 * back to the second, which it finds by the name that was chosen. */
#include <linux/clocksource.h>
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "timewarp.h"

#if defined(CONFIG_X86_64)
#include <asm/cpufeature.h>
#include <asm/msr.h>
#include <asm/tsc.h>

#define COUNTER_BITS 64
#define VDSO_MODE VDSO_CLOCKMODE_TSC

static notrace u64 read_counter(struct clocksource *cs)
{
	return rdtsc_ordered();
}

u64 counter_hz(void)
{
	return boot_cpu_has(X86_FEATURE_TSC) && !check_tsc_unstable() ? (u64)tsc_khz * 1000 : 0;
}
#elif defined(CONFIG_ARM64)
#include <clocksource/arm_arch_timer.h>

#define COUNTER_BITS 56 /* what the architecture promises */
#define VDSO_MODE VDSO_CLOCKMODE_ARCHTIMER

static notrace u64 read_counter(struct clocksource *cs)
{
	return arch_timer_read_counter();
}

u64 counter_hz(void)
{
	return arch_timer_get_cntfrq();
}
#else
#error "timewarp knows the counters of amd64 and arm64"
#endif

static struct clocksource clocks[2], *registered;
static struct clocksource *selected; /* written while all CPUs are stopped */

static void (*tell_deselected)(void);
static struct irq_work deselected_irq;

static void tell_from_work(struct work_struct *unused)
{
	tell_deselected();
}

static DECLARE_WORK(deselected_work, tell_from_work);

static void schedule_from_irq(struct irq_work *unused)
{
	schedule_work(&deselected_work);
}

static int clock_selected(struct clocksource *cs)
{
	WRITE_ONCE(selected, cs);
	return 0;
}

/* Some kernels hold the timekeeper's lock here, under which nothing may be woken: the rest waits
 * for an interrupt. */
static void clock_deselected(struct clocksource *cs)
{
	if (selected != cs)
		return;
	WRITE_ONCE(selected, NULL);
	irq_work_queue(&deselected_irq);
}

bool clock_is_selected(void)
{
	return READ_ONCE(selected);
}

/* Of the lowest rating, so that nobody but the user selects it. Not CLOCK_SOURCE_IS_CONTINUOUS,
 * because of which the kernel might watch the TSC by it, and find the TSC wrong; VALID_FOR_HRES
 * follows from that elsewhere. */
static const struct clocksource description = {
	.name = KBUILD_MODNAME,
	.rating = 1,
	.read = read_counter,
	.mask = CLOCKSOURCE_MASK(COUNTER_BITS),
	.flags = CLOCK_SOURCE_VALID_FOR_HRES,
	.vdso_clock_mode = VDSO_MODE,
	.enable = clock_selected,
	.disable = clock_deselected,
	.owner = THIS_MODULE,
};

static int register_clock(struct clocksource *cs, struct ratio r)
{
	u64 hz = div_u64(counter_hz() * r.den + r.num / 2, r.num);

	*cs = description;
	if (hz <= U32_MAX)
		return clocksource_register_hz(cs, hz);
	return clocksource_register_khz(cs, div_u64(hz + 500, 1000));
}

int warp_clock(struct ratio r)
{
	struct clocksource *old = registered, *new = &clocks[old == &clocks[0]];
	int err = register_clock(new, r);

	if (err)
		return err;
	err = clocksource_unregister(old);
	if (err) {
		clocksource_unregister(new);
		return err;
	}
	registered = new;
	return 0;
}

/* Registers the clock source at its true frequency. on_deselected is called whenever another one
 * was selected in its place. */
int start_clock(void (*on_deselected)(void))
{
	tell_deselected = on_deselected;
	init_irq_work(&deselected_irq, schedule_from_irq);
	registered = &clocks[0];
	return register_clock(registered, one);
}

/* For when it is not selected. No call of on_deselected begins or goes on after this. */
void stop_clock(void)
{
	clocksource_unregister(registered);
	irq_work_sync(&deselected_irq);
	cancel_work_sync(&deselected_work);
}
