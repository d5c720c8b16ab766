/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the effect of a cancel: what its target was blamed for, when that got better, and how long
 * it took. It is looked for where the target was, not in the whole resource: with twenty culprits
 * on twenty tables one cancel changes a twentieth.
 */
#include "libcancel/core/effect.h"

#include "libcancel/base/fixed.h"

/* How many waited for the instance on average, x 1e6. Of a pool, stalls that somebody caused. */
static uint64_t delay_ppm(const struct effect_view *v, const struct instance *instance)
{
	uint64_t delay_ns = v->ledger->resources[instance->resource].type == CANCEL_MEMORY
				    ? v->attribution->rooted_ns[instance->resource]
				    : instance->delay_ns;
	return fixed_scale(delay_ns, CANCEL_PPM, v->window->length_ns);
}

static void keep(struct effect *e, const struct blamed_instance *blamed)
{
	uint32_t at = e->count < BLAMED_MAX ? e->count++ : BLAMED_MAX;
	for (; at > 0 && e->blamed[at - 1].blame_us < blamed->blame_us; at--) {
		if (at < BLAMED_MAX)
			e->blamed[at] = e->blamed[at - 1];
	}
	if (at < BLAMED_MAX)
		e->blamed[at] = *blamed;
}

void effect_begin(struct effect *e, const struct effect_view *v, uint32_t slot, uint64_t mask)
{
	const struct contended *c = v->contended;
	uint32_t i = v->history->tasks[slot].first_use;
	e->count = 0;
	for (; i != NONE; i = c->uses[i].next_of_task) {
		const struct use *use = &c->uses[i];
		const struct instance *instance = &c->instances[use->instance];
		uint64_t delay_ns = fixed_max(instance->delay_ns, use->blame_ns);
		if (!(mask >> instance->resource & 1) || use->blame_ns == 0)
			continue;
		keep(e, &(struct blamed_instance){
				.delay_ppm = delay_ppm(v, instance),
				.blame_us = use->blame_ns / 1000,
				.number = instance->number,
				.share_ppm = fixed_ppm(use->blame_ns, delay_ns),
				.resource = instance->resource,
			});
	}
}

static struct instance *find(const struct blamed_instance *b, const struct effect_view *v)
{
	uint32_t index = contended_find(v->contended, b->resource, b->number);
	return index == NONE ? NULL : &v->contended->instances[index];
}

/* The ledger shows room where somebody waits: it has not reached them yet. (Not asked of a pool:
 * one that is kept full by evicting never has room, and of one given out by grants somebody may
 * want more than there is.) */
static bool has_room(const struct effect_view *v, const struct instance *instance)
{
	const struct cancel_ledger_resource *res = &v->ledger->resources[instance->resource];
	if (v->contended->types[instance->resource] == CANCEL_LOCK)
		return instance->holder_count == 0;
	return instance->held < res->capacity;
}

static bool shows_at(const struct blamed_instance *b, const struct effect_view *v)
{
	const struct instance *instance = find(b, v);
	if (!instance || instance->resource >= v->window->resource_count)
		return true;
	if (delay_ppm(v, instance) <=
		b->delay_ppm - fixed_scale(b->delay_ppm, b->share_ppm, CANCEL_PPM) / 2)
		return true;
	return v->ledger->resources[b->resource].type != CANCEL_MEMORY && !has_room(v, instance);
}

bool effect_shows(const struct effect *e, const struct effect_view *v)
{
	for (uint32_t i = 0; i < e->count; i++) {
		if (!shows_at(&e->blamed[i], v))
			return false;
	}
	return true;
}

void effect_bar(const struct effect *e, const struct effect_view *v)
{
	for (uint32_t i = 0; i < e->count; i++) {
		struct instance *instance = find(&e->blamed[i], v);
		if (instance)
			instance->awaited = true;
	}
}

/* Twice the longest of the last few. Before there was one: as long as allowed where room in the
 * ledger tells that it is on its way, and no longer than for a release where nothing does. */
uint64_t effect_wait_ns(const struct effect *e, const struct drains *d, const struct effect_view *v,
	const struct settings *s)
{
	uint64_t least_ns = s->release_wait_ms * NS_PER_MS, most_ns = s->drain_wait_ms * NS_PER_MS;
	uint64_t wait_ns = least_ns;
	for (uint32_t i = 0; i < e->count; i++) {
		const struct blamed_instance *b = &e->blamed[i];
		uint64_t longest_ns = 0;
		for (uint32_t k = 0; k < DRAINS_KEPT; k++)
			longest_ns = fixed_max(longest_ns, d->last_ns[b->resource][k]);
		if (d->count[b->resource])
			wait_ns = fixed_max(wait_ns, 2 * longest_ns);
		else if (v->ledger->resources[b->resource].type != CANCEL_MEMORY)
			wait_ns = most_ns;
	}
	return fixed_min(wait_ns, fixed_max(most_ns, least_ns));
}

void effect_learn(const struct effect *e, struct drains *d, uint64_t took_ns)
{
	uint64_t seen = 0;
	for (uint32_t i = 0; i < e->count; i++) {
		uint8_t r = e->blamed[i].resource;
		if (seen >> r & 1)
			continue;
		seen |= 1ull << r;
		d->last_ns[r][d->count[r]++ % DRAINS_KEPT] = took_ns;
	}
}
