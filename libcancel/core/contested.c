/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the index of contested instances: which were waited for, by whom in which order, and who
 * used them.
 *
 * Order of waiters matters only between modes: those of one mode wait for the same. So the queue
 * of a lock is kept as the first waiter of each mode, and a waiter is barred by a mode that
 * conflicts with its own and whose first waiter came no later. Equal stamps count as earlier:
 * coarse stamps repeat for about 10 ms, and a waiter they hid would be blamed on nobody.
 */
#include "libcancel/core/contested.h"

#include "libcancel/base/fixed.h"
#include "libcancel/base/hash.h"
#include "libcancel/base/lock_modes.h"

#include <string.h>

#define NEVER UINT64_MAX

/* The site of an instance, or NONE; `bucket` is where it is or would be. */
static uint32_t find(
	const struct contested *c, uint8_t resource, uint32_t instance, uint32_t *bucket)
{
	uint32_t mask = c->bucket_count - 1;
	uint32_t b = (uint32_t)hash_mix((uint64_t)resource << 32 | instance) & mask;
	for (; c->buckets[b]; b = (b + 1) & mask) {
		const struct site *site = &c->sites[c->buckets[b] - 1];

		if (site->resource == resource && site->instance == instance)
			return c->buckets[b] - 1;
	}
	*bucket = b;
	return NONE;
}

static uint32_t find_or_add(
	struct contested *c, uint8_t resource, uint32_t instance, const struct window *w)
{
	uint32_t bucket, index = find(c, resource, instance, &bucket);
	if (index != NONE)
		return index;
	if (c->site_count == c->site_limit) {
		c->overflow = true;
		return NONE;
	}
	index = c->site_count++;
	c->buckets[bucket] = index + 1;
	c->sites[index] = (struct site){
		.start_ns = w->now_ns,
		.first_holding = NONE,
		.first_front = NONE,
		.bucket = bucket,
		.instance = instance,
		.resource = resource,
	};
	for (uint32_t m = 0; m < CANCEL_LOCK_MODES_MAX; m++)
		c->sites[index].first_since_ns[m] = NEVER;
	return index;
}

/* Instances of a pool are not told apart: who evicted counts, not from which part. */
static uint32_t instance_of(const struct contested *c, const struct cancel_ledger_entry *e)
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

static void add_waiter(struct contested *c, const struct cancel_ledger *ledger,
	const struct window *w, struct waiting *wait)
{
	const struct cancel_ledger_entry *e = &ledger->entries[wait->entry];
	struct site *site;
	uint64_t start_ns = w->start_ns;
	wait->site = find_or_add(c, wait->resource, instance_of(c, e), w);
	if (wait->site == NONE)
		return;
	site = &c->sites[wait->site];
	if (wait->since_ns > w->start_ns &&
		wait->delta_ns <= fixed_minus(w->now_ns, wait->since_ns))
		start_ns = wait->since_ns; /* nothing but the present wait */
	site->start_ns = fixed_min(site->start_ns, start_ns);
	if (wait->bears_slo)
		site->delay_ns += wait->delta_ns;
	if (c->types[wait->resource] != CANCEL_LOCK)
		return;
	wait->mode = mode_of(e);
	if (wait->mode && wait->since_ns)
		site->first_since_ns[wait->mode - 1] =
			fixed_min(site->first_since_ns[wait->mode - 1], wait->since_ns);
}

/* For the first waiter of each mode: the holders it waits for, and those that the waiters ahead of
 * it wait for. Repeated until nothing changes, at most once a mode. */
static void close_bars(const struct contested *c, struct site *site)
{
	bool changed = true;
	for (uint8_t m = 0; m < CANCEL_LOCK_MODES_MAX; m++)
		site->bars[m] = contested_blockers(c, site->resource, (uint8_t)(m + 1));
	for (uint32_t turn = 0; changed && turn < CANCEL_LOCK_MODES_MAX; turn++) {
		changed = false;
		for (uint32_t m = 0; m < CANCEL_LOCK_MODES_MAX; m++) {
			uint8_t before = site->bars[m];

			for (uint32_t a = 0; a < CANCEL_LOCK_MODES_MAX; a++) {
				if (site->first_since_ns[a] == NEVER ||
					site->first_since_ns[a] > site->first_since_ns[m])
					continue;
				if (c->conflicts[site->resource][m] >> a & 1)
					site->bars[m] |= site->bars[a];
			}
			changed |= site->bars[m] != before;
		}
	}
}

/* A task first seen in this window may bring use of the time before. */
static uint64_t most_use_ns(const struct contested *c, const struct cancel_ledger *ledger,
	const struct cancel_ledger_entry *e, const struct window *w)
{
	switch (c->types[e->resource]) {
	case CANCEL_LOCK:
		return w->length_ns;
	case CANCEL_QUEUE:
		return w->length_ns *
		       fixed_max(e->held, fixed_max(ledger->resources[e->resource].capacity, 1));
	case CANCEL_MEMORY:
		break;
	}
	return UINT64_MAX;
}

/* How long the entry was used in the window, and how long it is held. A hold that began after the
 * last coarse stamp has no time yet, but it began somewhere. */
static void measure(const struct contested *c, const struct cancel_ledger *ledger,
	const struct window *w, const struct past_entry *known, struct holding *holding)
{
	const struct cancel_ledger_entry *e = &ledger->entries[holding->entry];
	enum cancel_resource_type type = c->types[e->resource];
	uint64_t held_ns = fixed_min(fixed_minus(w->now_ns, e->held_since_ns), w->length_ns);
	uint64_t overlap_ns = known->use_delta_ns;
	if (type != CANCEL_MEMORY && overlap_ns == 0)
		overlap_ns = type == CANCEL_QUEUE ? fixed_scale(held_ns, e->held, 1) : held_ns;
	overlap_ns = fixed_min(overlap_ns, most_use_ns(c, ledger, e, w));
	holding->overlap_ns = overlap_ns;
	holding->held_ns = e->held ? held_ns : fixed_min(overlap_ns, w->length_ns);
	holding->since_ns = e->held ? e->held_since_ns : 0;
}

static void enlist(struct contested *c, struct past_task *past, struct holding *holding)
{
	struct site *site = &c->sites[holding->site];
	holding->next_of_site = site->first_holding;
	holding->next_of_task = past->first_holding;
	site->use_ns += holding->overlap_ns;
	site->held_modes |= holding->modes;
	if (holding->since_ns) {
		site->holder_count++;
		site->holder_task = holding->task;
	}
	c->holdings[c->holding_count] = *holding;
	site->first_holding = past->first_holding = c->holding_count++;
}

static void add_holding(struct contested *c, struct history *h, const struct cancel_ledger *ledger,
	const struct window *w, uint32_t task, uint32_t position)
{
	const struct cancel_ledger_task *t = &ledger->tasks[task];
	const struct cancel_ledger_entry *e = &ledger->entries[t->first_entry + position];
	const struct past_entry *known = &past_entries(h, t->slot)[position];
	uint32_t bucket;
	struct holding holding = {
		.task = task,
		.entry = t->first_entry + position,
		.site = find(c, e->resource, instance_of(c, e), &bucket),
		/* Never seen held at the instant of a ledger: the mode is unknown, any may be
		   barred. */
		.modes = known->modes ? known->modes : UINT8_MAX,
		.position = (uint8_t)position,
	};
	if (holding.site == NONE)
		return;
	if (c->holding_count == c->holding_limit) {
		c->overflow = true;
		return;
	}
	measure(c, ledger, w, known, &holding);
	enlist(c, &h->tasks[t->slot], &holding);
}

static void add_holdings(struct contested *c, struct history *h, const struct cancel_ledger *ledger,
	const struct window *w)
{
	bool wanted[UINT8_MAX + 1] = { false }; /* by resource: some instance is contested */
	for (uint32_t i = 0; i < c->site_count; i++)
		wanted[c->sites[i].resource] = true;
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
				add_holding(c, h, ledger, w, i, k);
		}
	}
}

static void take_resources(
	struct contested *c, const struct cancel_ledger *ledger, const struct window *w)
{
	for (uint32_t r = 0; r < w->resource_count; r++) {
		const struct cancel_ledger_resource *res = &ledger->resources[r];

		c->types[r] = res->type;
		memcpy(c->conflicts[r], lock_modes_in_force(res->conflicts),
			sizeof c->conflicts[r]);
	}
}

void contested_build(struct contested *c, struct history *h, const struct cancel_ledger *ledger,
	const struct window *w)
{
	take_resources(c, ledger, w);
	c->overflow = w->overflow;
	for (uint32_t i = 0; i < w->wait_count; i++)
		add_waiter(c, ledger, w, &h->waits[i]);
	/* A pool is contested even when everybody who stalled has already gone. */
	for (uint8_t r = 0; r < w->resource_count; r++) {
		if (c->types[r] == CANCEL_MEMORY && w->resources[r].wait_ns)
			find_or_add(c, r, 0, w);
	}
	for (uint32_t i = 0; i < c->site_count; i++) {
		if (c->types[c->sites[i].resource] == CANCEL_LOCK)
			close_bars(c, &c->sites[i]);
	}
	if (c->site_count)
		add_holdings(c, h, ledger, w);
}

void contested_clear(struct contested *c)
{
	for (uint32_t i = 0; i < c->site_count; i++)
		c->buckets[c->sites[i].bucket] = 0;
	c->site_count = c->holding_count = 0;
}
