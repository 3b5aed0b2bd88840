// SPDX-License-Identifier: GPL-2.0
/* timewarp: the kernel's clock runs N times as fast as real time, with N changeable while it
 * runs.
 *
 * The kernel turns a counter into time by the frequency that is declared for the clock source,
 * and time into ticks of a timer by the frequency that is declared for the clock event device.
 * This module declares both as the true frequency divided by N. Nothing is multiplied when the
 * clock is read, so the vDSO goes on reading it without a system call, and since timekeeping
 * takes over what has passed before it turns to another clock source, no change of N moves it
 * back.
 *
 * At no moment may timers be slower than the clock: an interrupt that comes too early is
 * harmless, one that comes too late is not. So when N grows timers go first, when it shrinks the
 * clock does, and N differs from 1 only while the clock source is selected. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/gcd.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/timekeeping.h>

#include "timewarp.h"

/* Larger terms would make products of a frequency and a term overflow. */
#define MAX_TERM 1000000

/* Serializes changes of N, and guards it. */
static DEFINE_MUTEX(change_lock);
static struct ratio ratio = {1, 1};
static enum rto_mode rto = RTO_NONE;
static bool loaded;

static int change(struct ratio r)
{
	bool faster = (u64)r.num * ratio.den > (u64)ratio.num * r.den;
	int err;

	err = warp_rto(rto, r);
	if (err)
		return err;
	if (faster)
		warp_timers(r);
	err = warp_clock(r);
	if (err)
		r = ratio;
	if (!faster || err)
		warp_timers(r);
	if (err)
		warp_rto(rto, r);
	ratio = r;
	return err;
}

/* Without the false clock timers must not be false either. */
static void clock_was_deselected(void)
{
	mutex_lock(&change_lock);
	if (!clock_is_selected() && !same(ratio, one)) {
		pr_info("another clock source was selected: the ratio is 1 again\n");
		change(one);
	}
	mutex_unlock(&change_lock);
}

static int parse_ratio(const char *text, struct ratio *r)
{
	char terms[24], *den;
	u32 divisor;

	if (strscpy(terms, text, sizeof(terms)) < 0)
		return -EINVAL;
	den = strchr(terms, '/');
	if (den)
		*den++ = '\0';
	r->den = 1;
	if (kstrtouint(terms, 10, &r->num) || (den && kstrtouint(den, 10, &r->den)))
		return -EINVAL;
	if (!r->num || !r->den || r->num > MAX_TERM || r->den > MAX_TERM || r->num * 10ULL < r->den ||
	    r->num > r->den * 1000ULL)
		return -ERANGE;
	divisor = gcd(r->num, r->den);
	r->num /= divisor;
	r->den /= divisor;
	return 0;
}

static int set_ratio(const char *text, const struct kernel_param *kp)
{
	struct ratio r;
	int err = parse_ratio(text, &r);

	if (err)
		return err;
	mutex_lock(&change_lock);
	if (loaded && clock_is_selected()) {
		err = same(r, ratio) ? 0 : change(r);
	} else if (!same(r, ratio)) {
		pr_info("select " KBUILD_MODNAME " as the clock source before the ratio is changed\n");
		err = -EBUSY; /* not EAGAIN, upon which a program may wait for the file to become writable */
	}
	mutex_unlock(&change_lock);
	return err;
}

static int get_ratio(char *text, const struct kernel_param *kp)
{
	struct ratio r;

	mutex_lock(&change_lock);
	r = ratio;
	mutex_unlock(&change_lock);
	if (r.den == 1)
		return scnprintf(text, PAGE_SIZE, "%u\n", r.num);
	return scnprintf(text, PAGE_SIZE, "%u/%u\n", r.num, r.den);
}

static const struct kernel_param_ops ratio_ops = {
	.set = set_ratio,
	.get = get_ratio,
};
module_param_cb(ratio, &ratio_ops, NULL, 0644);
MODULE_PARM_DESC(ratio, "how many times as fast as real time the clock runs: N or P/Q, 1/10 to 1000");

static const char *const rto_names[] = {
	[RTO_NONE] = "none",
	[RTO_BOUNDS] = "bounds",
	[RTO_PAPER] = "paper",
};

static int set_rto(const char *text, const struct kernel_param *kp)
{
	int mode = sysfs_match_string(rto_names, text), err;

	if (mode < 0)
		return mode;
	mutex_lock(&change_lock);
	err = warp_rto(mode, ratio);
	if (!err)
		rto = mode;
	mutex_unlock(&change_lock);
	return err;
}

static int get_rto(char *text, const struct kernel_param *kp)
{
	enum rto_mode mode;

	mutex_lock(&change_lock);
	mode = rto;
	mutex_unlock(&change_lock);
	return scnprintf(text, PAGE_SIZE, "%s\n", rto_names[mode]);
}

static const struct kernel_param_ops rto_ops = {
	.set = set_rto,
	.get = get_rto,
};
module_param_cb(rto, &rto_ops, NULL, 0644);
MODULE_PARM_DESC(rto, "how TCP's retransmission timeout follows the ratio: none, bounds or paper");

static int get_initial_rto_at(char *text, const struct kernel_param *kp)
{
	return scnprintf(text, PAGE_SIZE, "%lu\n", (unsigned long)&initial_rto);
}

static const struct kernel_param_ops initial_rto_at_ops = {
	.get = get_initial_rto_at,
};
module_param_cb(initial_rto_at, &initial_rto_at_ops, NULL, 0400);
MODULE_PARM_DESC(initial_rto_at, "where the BPF program for the initial timeout reads it");

/* A host may take a virtual processor away between one clock and the other: of some tries that
 * counts in which they were read the closest together. */
#define READING_TRIES 16

static int get_now(char *text, const struct kernel_param *kp)
{
	u64 real = 0, warped = 0, closest = U64_MAX;
	unsigned long flags;
	int i;

	for (i = 0; i < READING_TRIES; i++) {
		u64 before, between, after;

		local_irq_save(flags);
		before = sched_clock();
		between = ktime_get_ns();
		after = sched_clock();
		local_irq_restore(flags);
		if (after - before < closest) {
			closest = after - before;
			real = before + closest / 2;
			warped = between;
		}
	}
	return scnprintf(text, PAGE_SIZE, "%llu %llu\n", real, warped);
}

static const struct kernel_param_ops now_ops = {
	.get = get_now,
};
module_param_cb(now, &now_ops, NULL, 0444);
MODULE_PARM_DESC(now, "real time (sched_clock) and CLOCK_MONOTONIC, in ns");

static int __init timewarp_init(void)
{
	int err;

	if (!counter_hz()) {
		pr_err("this kernel does not trust the counter as a clock (on amd64 tsc=reliable helps)\n");
		return -ENODEV;
	}
	err = start_timers();
	if (err)
		return err;
	err = start_clock(clock_was_deselected);
	if (err) {
		stop_timers();
		return err;
	}
	mutex_lock(&change_lock);
	loaded = true;
	mutex_unlock(&change_lock);
	return 0;
}

/* Runs only while the clock source is not selected: selecting it takes a reference to the
 * module. */
static void __exit timewarp_exit(void)
{
	warp_rto(RTO_NONE, one);
	stop_clock();
	stop_timers();
}

module_init(timewarp_init);
module_exit(timewarp_exit);

MODULE_LICENSE("GPL v2");
MODULE_VERSION("1");
MODULE_INFO(airtide_sources, __stringify(AIRTIDE_SOURCES));
MODULE_DESCRIPTION("a clock that runs N times as fast as real time");
