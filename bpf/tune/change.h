/* SPDX-License-Identifier: GPL-2.0 */
/* Changing a socket and taking the change back. The caller holds the socket's lock: iter/tcp and
 * the sock_ops hooks that are used here do. target is what bpf_setsockopt takes there, the
 * socket or the hook's context.
 *
 * Functions that only read and write memory decide what to do. The verifier checks such a function
 * once. Else it would follow each combination of settings through the rest of the program. */
#ifndef AIRTIDE_TUNE_CHANGE_H
#define AIRTIDE_TUNE_CHANGE_H

#include "tune.h"

#define TUNE_APART __attribute__((noinline))

/* A change of one socket. */
struct tune_plan {
	u64 session;
	u32 wanted;
	u32 todo; /* what is to be written into the socket */
	u32 tick_us;
	u32 bounded; /* it runs cubic_bound */
	s64 now[TUNE_SETTINGS];
	s32 option[TUNE_SETTINGS];
	s16 error[TUNE_SETTINGS];
	struct tune_name cc;
};

static __always_inline bool has(const volatile u32 *mask, u32 x)
{
	return *mask >> x & 1;
}

static __always_inline struct tune_slot *begin_slot(struct tuned *t, u64 session, u32 flags)
{
	struct tune_slot *s = slot_of(t, session);

	if (s)
		return s;
	s = slot_of(t, 0);
	if (!s) {
		tune_count(TUNE_COUNT_NO_ROOM);
		return NULL;
	}
	__builtin_memset(s, 0, sizeof(*s));
	s->session = session;
	s->order = bpf_ktime_get_ns();
	s->flags = flags;
	tune_count(flags & TUNE_NEW ? TUNE_COUNT_NEW : TUNE_COUNT_LIVE);
	return s;
}

/* The slot of the plan's tune. */
static __always_inline struct tune_slot *slot_for(struct tuned *t, const struct tune_plan *p)
{
	return t && p ? slot_of(t, p->session) : NULL;
}

/* Notes the congestion control that is there; 1 when another is to be chosen. */
TUNE_APART int plan_cc(struct tuned *t, struct tune_config *c, struct tune_plan *p)
{
	struct tune_slot *s = slot_for(t, p), *next;

	if (!s || !c)
		return 0;
	next = next_after(t, s, BIT(TUNE_CC));
	/* The second time, what its program has chosen since the first. */
	if (!(s->mask & BIT(TUNE_CC)) || (!next && !same_name(p->cc.name, s->left_cc)))
		__builtin_memcpy(s->old_cc, next ? next->old_cc : p->cc.name, 16);
	__builtin_memcpy(s->want_cc, c->cc, 16);
	__builtin_memcpy(s->left_cc, c->cc, 16);
	s->mask |= BIT(TUNE_CC);
	s->error[TUNE_CC] = 0;
	if (next) {
		__builtin_memcpy(next->old_cc, c->cc, 16);
		return 0;
	}
	return !same_name(p->cc.name, c->cc);
}

TUNE_APART int note_cc(struct tuned *t, struct tune_plan *p, int error)
{
	struct tune_slot *s = slot_for(t, p);

	if (!s)
		return 0;
	s->error[TUNE_CC] = error;
	__builtin_memcpy(s->left_cc, p->cc.name, 16);
	return 0;
}

/* Notes what is there, and says what is to be written. */
TUNE_APART int plan_change(struct tuned *t, struct tune_config *c, struct tune_plan *p)
{
	struct tune_slot *s = slot_for(t, p), *next;

	if (!s || !c)
		return 0;
	for (u32 x = 0; x < TUNE_SETTINGS; x++) {
		if (!has(&p->wanted, x))
			continue;
		if (x == TUNE_INITIAL_WINDOW && !(s->flags & TUNE_NEW))
			continue;
		if ((x == TUNE_CLAMP && p->bounded) || (x == TUNE_UPPER && !p->bounded))
			continue;
		next = next_after(t, s, BIT(x));
		if (!has(&s->mask, x))
			s->old[x] = next ? next->old[x] : p->now[x];
		s->mask |= BIT(x);
		s->want[x] = c->want[x];
		s->error[x] = 0;
		p->option[x] = c->option[x];
		if (x == TUNE_RCVBUF && (c->flags & TUNE_RCVBUF_AT_LEAST) && p->now[x] > c->want[x]) {
			p->option[x] = (u64)p->now[x] / 2;
			s->want[x] = p->now[x] & ~1ll;
		}
		s->left[x] = s->want[x];
		if (next)
			next->old[x] = s->want[x];
		else
			p->todo |= BIT(x);
	}
	return 0;
}

TUNE_APART int note_change(struct tuned *t, struct tune_plan *p)
{
	struct tune_slot *s = slot_for(t, p);

	if (!s)
		return 0;
	for (u32 x = 0; x < TUNE_SETTINGS; x++)
		if (has(&p->todo, x)) {
			s->left[x] = p->now[x];
			s->error[x] = p->error[x];
		}
	return 0;
}

/* Writes what the plan says. */
static __always_inline void write_all(void *target, u64 cookie, struct tune_plan *p)
{
	struct tune_bounds b;
	int err;

	for (u32 x = TUNE_CLAMP; x < TUNE_SETTINGS; x++)
		if (x != TUNE_LOCKS && has(&p->todo, x))
			p->error[x] = -set_option(target, x, p->option[x]);
	if (!has(&p->todo, TUNE_UPPER) && !has(&p->todo, TUNE_LOWER))
		return;
	bounds_of(&p->cc, cookie, &b);
	if (has(&p->todo, TUNE_UPPER))
		b.upper = p->option[TUNE_UPPER];
	if (has(&p->todo, TUNE_LOWER))
		b.lower = p->option[TUNE_LOWER];
	err = -set_bounds(&p->cc, cookie, &b);
	p->error[TUNE_UPPER] = err;
	p->error[TUNE_LOWER] = err;
}

static __always_inline void look(struct tcp_sock *tp, u64 cookie, struct tune_plan *p)
{
	struct tune_bounds b;

	cc_name_of(tp, p->cc.name);
	p->bounded = bounds_of(&p->cc, cookie, &b);
	read_all(tp, cookie, &p->cc, p->now);
}

/* Sets what is wanted of the configuration, and notes what was there before. */
static __always_inline void change(void *target, struct tcp_sock *tp, u64 cookie, struct tuned *t,
				   struct tune_config *c, u32 wanted)
{
	struct tune_plan p = {.session = c->session, .wanted = wanted};
	int err = 0;

	cc_name_of(tp, p.cc.name);
	if (has(&p.wanted, TUNE_CC) && plan_cc(t, c, &p)) {
		err = -bpf_setsockopt(target, SOL_TCP, TCP_CONGESTION, c->cc, 16);
		cc_name_of(tp, p.cc.name);
		note_cc(t, &p, err);
	}
	look(tp, cookie, &p);
	plan_change(t, c, &p);
	write_all(target, cookie, &p);
	look(tp, cookie, &p);
	note_change(t, &p);
}

/* Plans the values that take a tune's changes back: those that it found. A value that another tune
 * has set since, or that is no longer the one that this tune left, stays. Returns 1 if another
 * congestion control has to be chosen. */
TUNE_APART int plan_release(struct tuned *t, struct tune_plan *p)
{
	struct tune_slot *s = slot_for(t, p), *next;
	int rename = 0;

	if (!s)
		return 0;
	for (u32 x = 0; x < TUNE_SETTINGS; x++) {
		if (x == TUNE_INITIAL_WINDOW || !has(&s->mask, x))
			continue;
		next = next_after(t, s, BIT(x));
		if (next) {
			next->old[x] = s->old[x];
			continue;
		}
		if (p->now[x] != s->left[x] || p->now[x] == s->old[x])
			continue;
		p->option[x] = option_for(x, s->old[x], p->tick_us);
		p->todo |= BIT(x);
	}
	if (has(&s->mask, TUNE_CC)) {
		next = next_after(t, s, BIT(TUNE_CC));
		if (next) {
			__builtin_memcpy(next->old_cc, s->old_cc, 16);
		} else if (same_name(p->cc.name, s->left_cc) && !same_name(p->cc.name, s->old_cc)) {
			rename = 1;
		}
	}
	return rename;
}

/* The slot is free again; the congestion control that was there before, for the caller to
 * choose. */
TUNE_APART int end_slot(struct tuned *t, struct tune_plan *p)
{
	struct tune_slot *s = slot_for(t, p);

	if (!s)
		return 0;
	__builtin_memcpy(p->cc.name, s->old_cc, 16);
	s->session = 0;
	return 0;
}

/* Buffers that were not fixed can be freed again from user space only. */
static __always_inline void release(void *target, struct tcp_sock *tp, u64 cookie, struct tuned *t, u64 session,
				    u32 tick_us)
{
	struct tune_plan p = {.session = session, .tick_us = tick_us};
	int rename;

	look(tp, cookie, &p);
	rename = plan_release(t, &p);
	write_all(target, cookie, &p);
	end_slot(t, &p);
	if (rename)
		bpf_setsockopt(target, SOL_TCP, TCP_CONGESTION, p.cc.name, 16);
}

#endif
