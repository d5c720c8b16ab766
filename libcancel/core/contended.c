/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the index of contended instances: which were waited for, by whom in which order, and who
 * used them.
 *
 * Order of waiters matters only between modes: those of one mode wait for the same. So the queue
 * of a lock is kept as the first waiter of each mode, and a waiter is blocked by a mode that
 * conflicts with its own and whose first waiter came no later. Equal stamps count as earlier:
 * coarse stamps repeat for about 10 ms, and a waiter they hid would be blamed on nobody.
 */
#include "libcancel/core/contended.h"

#include "libcancel/base/fixed.h"
#include "libcancel/base/hash.h"
#include "libcancel/base/lock_modes.h"

#include <string.h>

#define NEVER	 UINT64_MAX
#define FULL_PPM 900000u /* of a pool's units */

/* The index of an instance, or NONE; `bucket` is where it is or would be. */
static uint32_t find(const struct contended *c, uint8_t resource, uint32_t number, uint32_t *bucket)
{
	uint32_t mask = c->bucket_count - 1;
	uint32_t b = (uint32_t)hash_mix((uint64_t)resource << 32 | number) & mask;
	for (; c->buckets[b]; b = (b + 1) & mask) {
		const struct instance *instance = &c->instances[c->buckets[b] - 1];
		if (instance->resource == resource && instance->number == number)
			return c->buckets[b] - 1;
	}
	*bucket = b;
	return NONE;
}

uint32_t contended_find(const struct contended *c, uint8_t resource, uint32_t number)
{
	uint32_t bucket;
	return find(c, resource, number, &bucket);
}

static uint32_t find_or_add(
	struct contended *c, uint8_t resource, uint32_t number, const struct window *w)
{
	uint32_t bucket, index = find(c, resource, number, &bucket);
	if (index != NONE)
		return index;
	if (c->instance_count == c->instance_limit) {
		c->overflow = true;
		return NONE;
	}
	index = c->instance_count++;
	c->buckets[bucket] = index + 1;
	c->instances[index] = (struct instance){
		.start_ns = w->now_ns,
		.first_use = NONE,
		.first_group = NONE,
		.bucket = bucket,
		.number = number,
		.resource = resource,
	};
	for (uint32_t m = 0; m < CANCEL_LOCK_MODES_MAX; m++)
		c->instances[index].first_since_ns[m] = NEVER;
	return index;
}

/* Instances of a pool are not told apart: who evicted counts, not from which part. */
static uint32_t number_of(const struct contended *c, const struct cancel_ledger_entry *e)
{
	return c->types[e->resource] == CANCEL_MEMORY ? 0 : e->instance;
}

/* The mode an entry waits or waited for: what it wants, else what it got, else unknown (0). */
static uint8_t mode_of(const struct cancel_ledger_entry *e)
{
	if (e->wanted_mode && e->wanted_mode <= CANCEL_LOCK_MODES_MAX)
		return e->wanted_mode;
	return e->held_modes ? (uint8_t)(32 - __builtin_clz(e->held_modes)) : 0;
}

static void add_waiter(struct contended *c, const struct cancel_ledger *ledger,
	const struct window *w, struct waiting *wait)
{
	const struct cancel_ledger_entry *e = &ledger->entries[wait->entry];
	struct instance *instance;
	uint64_t start_ns = w->start_ns;
	wait->instance = find_or_add(c, wait->resource, number_of(c, e), w);
	if (wait->instance == NONE)
		return;
	instance = &c->instances[wait->instance];
	if (wait->since_ns > w->start_ns &&
		wait->delta_ns <= fixed_minus(w->now_ns, wait->since_ns))
		start_ns = wait->since_ns; /* nothing but the present wait */
	instance->start_ns = fixed_min(instance->start_ns, start_ns);
	if (wait->bears_slo)
		instance->delay_ns += wait->delta_ns;
	if (c->types[wait->resource] != CANCEL_LOCK)
		return;
	wait->mode = mode_of(e);
	if (wait->mode && wait->since_ns)
		instance->first_since_ns[wait->mode - 1] =
			fixed_min(instance->first_since_ns[wait->mode - 1], wait->since_ns);
}

/* For the first waiter of each mode: the holders it waits for, and those that the waiters ahead of
 * it wait for. Repeated until nothing changes, at most once a mode. */
static void find_blocking_modes(const struct contended *c, struct instance *instance)
{
	bool changed = true;
	for (uint8_t m = 0; m < CANCEL_LOCK_MODES_MAX; m++)
		instance->blocked_by[m] =
			contended_conflicts(c, instance->resource, (uint8_t)(m + 1));
	for (uint32_t turn = 0; changed && turn < CANCEL_LOCK_MODES_MAX; turn++) {
		changed = false;
		for (uint32_t m = 0; m < CANCEL_LOCK_MODES_MAX; m++) {
			uint8_t before = instance->blocked_by[m];
			for (uint32_t a = 0; a < CANCEL_LOCK_MODES_MAX; a++) {
				if (instance->first_since_ns[a] == NEVER ||
					instance->first_since_ns[a] > instance->first_since_ns[m])
					continue;
				if (c->conflicts[instance->resource][m] >> a & 1)
					instance->blocked_by[m] |= instance->blocked_by[a];
			}
			changed |= instance->blocked_by[m] != before;
		}
	}
}

/* A task first seen in this window may bring use of the time before. */
static uint64_t max_use_ns(const struct contended *c, const struct cancel_ledger *ledger,
	const struct cancel_ledger_entry *e, const struct window *w)
{
	switch (c->types[e->resource]) {
	case CANCEL_LOCK:
		return w->length_ns;
	case CANCEL_QUEUE:
		return fixed_times(w->length_ns,
			fixed_max(e->held, fixed_max(ledger->resources[e->resource].capacity, 1)));
	case CANCEL_MEMORY:
		break;
	}
	return UINT64_MAX;
}

/* How long the entry was used in the window, and how long it is held. A hold that began after the
 * last coarse stamp has no time yet, but it began somewhere. */
static void measure(const struct contended *c, const struct cancel_ledger *ledger,
	const struct window *w, const struct past_entry *known, struct use *use)
{
	const struct cancel_ledger_entry *e = &ledger->entries[use->entry];
	enum cancel_resource_type type = c->types[e->resource];
	uint64_t held_ns = fixed_min(fixed_minus(w->now_ns, e->held_since_ns), w->length_ns);
	uint64_t overlap_ns = known->use_delta_ns;
	if (type != CANCEL_MEMORY && overlap_ns == 0)
		overlap_ns = type == CANCEL_QUEUE ? fixed_scale(held_ns, e->held, 1) : held_ns;
	overlap_ns = fixed_min(overlap_ns, max_use_ns(c, ledger, e, w));
	use->overlap_ns = overlap_ns;
	use->held_ns = e->held ? held_ns : fixed_min(overlap_ns, w->length_ns);
	use->since_ns = e->held ? e->held_since_ns : 0;
}

/* What a task used is added up over its episodes: many short statements of one session may be worth
 * a long one. Holding while it stood in another queue is not its use. */
static void add_up(const struct contended *c, const struct history *h,
	const struct cancel_ledger *ledger, const struct window *w, const struct use *use)
{
	uint32_t slot = ledger->tasks[use->task].slot;
	struct past_usage *usage = &past_usages(h, slot)[use->position];
	uint64_t idle_ns = 0;
	for (uint32_t i = h->tasks[slot].first_wait; i != NONE; i = h->waits[i].next_of_task) {
		const struct waiting *wait = &h->waits[i];
		if (wait->entry != use->entry && c->types[wait->resource] != CANCEL_MEMORY)
			idle_ns += wait->delta_ns;
	}
	usage->used_ns = fixed_plus(window_decayed(usage->used_ns, w->now_ns - usage->used_at_ns),
		fixed_minus(use->overlap_ns, idle_ns));
	usage->used_at_ns = w->now_ns;
}

static void enlist(struct contended *c, struct past_task *past, struct use *use, uint64_t held)
{
	struct instance *instance = &c->instances[use->instance];
	use->next_of_instance = instance->first_use;
	use->next_of_task = past->first_use;
	instance->use_ns += use->overlap_ns;
	instance->held_modes |= use->modes;
	if (use->since_ns) {
		instance->holder_count++;
		instance->holder_task = use->task;
		instance->present_modes |= use->modes;
		instance->held = fixed_plus(instance->held, held);
	}
	c->uses[c->use_count] = *use;
	instance->first_use = past->first_use = c->use_count++;
}

static void add_use(struct contended *c, struct history *h, const struct cancel_ledger *ledger,
	const struct window *w, uint32_t task, uint32_t position)
{
	const struct cancel_ledger_task *t = &ledger->tasks[task];
	const struct cancel_ledger_entry *e = &ledger->entries[t->first_entry + position];
	const struct past_entry *known = &past_entries(h, t->slot)[position];
	uint32_t bucket;
	struct use use = {
		.task = task,
		.entry = t->first_entry + position,
		.instance = find(c, e->resource, number_of(c, e), &bucket),
		/* Never seen held at the instant of a ledger: the mode is unknown, any may be
		   blocked. */
		.modes = known->modes ? known->modes : UINT8_MAX,
		.position = (uint8_t)position,
	};
	if (use.instance == NONE)
		return;
	if (c->use_count == c->use_limit) {
		c->overflow = true;
		return;
	}
	measure(c, ledger, w, known, &use);
	if (c->types[e->resource] != CANCEL_MEMORY)
		add_up(c, h, ledger, w, &use);
	enlist(c, &h->tasks[t->slot], &use, e->held);
}

static void add_uses(struct contended *c, struct history *h, const struct cancel_ledger *ledger,
	const struct window *w)
{
	bool wanted[UINT8_MAX + 1] = { false }; /* by resource: some instance is contended */
	for (uint32_t i = 0; i < c->instance_count; i++)
		wanted[c->instances[i].resource] = true;
	for (uint32_t i = 0; i < ledger->task_count; i++) {
		const struct cancel_ledger_task *t = &ledger->tasks[i];
		uint32_t count = window_entry_count(ledger, t);
		const struct cancel_ledger_entry *e = &ledger->entries[t->first_entry];
		const struct past_entry *known;
		if (t->slot >= h->task_limit)
			continue;
		known = past_entries(h, t->slot);
		for (uint32_t k = 0; k < count; k++) {
			if (!wanted[e[k].resource])
				continue;
			if (known[k].use_delta_ns ||
				(e[k].held && c->types[e[k].resource] != CANCEL_MEMORY))
				add_use(c, h, ledger, w, i, k);
		}
	}
}

static uint64_t units_held(const struct history *h, const struct cancel_ledger *ledger, uint32_t r)
{
	uint64_t held = 0;
	for (uint32_t i = 0; i < ledger->task_count; i++) {
		const struct cancel_ledger_task *t = &ledger->tasks[i];
		uint32_t count = window_entry_count(ledger, t);
		if (t->slot >= h->task_limit)
			continue;
		for (uint32_t k = 0; k < count; k++) {
			const struct cancel_ledger_entry *e = &ledger->entries[t->first_entry + k];
			held = fixed_plus(held, e->resource == r ? e->held : 0);
		}
	}
	return held;
}

/* Misses of a pool that still fills up are nobody's fault. */
static bool is_granted(const struct history *h, const struct cancel_ledger *ledger,
	const struct window *w, uint32_t r)
{
	const struct cancel_ledger_resource *res = &ledger->resources[r];
	const struct history_totals *totals = &h->totals[r];
	return res->type == CANCEL_MEMORY && w->resources[r].wait_ns && res->capacity &&
	       totals->evicted.highest == 0 && totals->use.highest == 0 &&
	       w->resources[r].use_ns == 0 &&
	       fixed_ppm(units_held(h, ledger, r), res->capacity) >= FULL_PPM;
}

static void take_resources(struct contended *c, const struct history *h,
	const struct cancel_ledger *ledger, const struct window *w)
{
	for (uint32_t r = 0; r < w->resource_count; r++) {
		const struct cancel_ledger_resource *res = &ledger->resources[r];
		c->types[r] = is_granted(h, ledger, w, r) ? CANCEL_QUEUE : res->type;
		memcpy(c->conflicts[r], lock_modes_in_force(res->conflicts),
			sizeof c->conflicts[r]);
	}
}

void contended_build(struct contended *c, struct history *h, const struct cancel_ledger *ledger,
	const struct window *w)
{
	take_resources(c, h, ledger, w);
	c->overflow = w->overflow;
	for (uint32_t i = 0; i < w->wait_count; i++)
		add_waiter(c, ledger, w, &h->waits[i]);
	/* A pool is contended even when everybody who stalled has already gone. */
	for (uint8_t r = 0; r < w->resource_count; r++) {
		if (c->types[r] == CANCEL_MEMORY && w->resources[r].wait_ns)
			find_or_add(c, r, 0, w);
	}
	for (uint32_t i = 0; i < c->instance_count; i++) {
		if (c->types[c->instances[i].resource] == CANCEL_LOCK)
			find_blocking_modes(c, &c->instances[i]);
	}
	if (c->instance_count)
		add_uses(c, h, ledger, w);
}

void contended_clear(struct contended *c)
{
	for (uint32_t i = 0; i < c->instance_count; i++)
		c->buckets[c->instances[i].bucket] = 0;
	c->instance_count = c->use_count = 0;
	c->overflow = false;
}
