/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.c - owns the layout of a task's entries: which key lives where. Time and amounts are
 * usage.c's.
 *
 * A new entry beyond the count is invisible until the count is released. An idle entry that gets
 * a new key changes its meaning under the readers' eyes, and its totals move to the folded block
 * at the same time; so `layout` is odd meanwhile. All stores between are releases: a reader that
 * sees one of them and then the layout again, sees it changed and reads again. No fence needed.
 */
#include "libcancel/track/entry.h"

struct folded *entry_folded(struct slot *s, uint32_t resource)
{
	uint64_t mask = load_relaxed(&s->folded_mask);
	uint64_t bit = (uint64_t)1 << resource;
	if (!(mask & bit))
		store_release(&s->folded_mask, mask | bit);
	return &s->side->folded[resource];
}

uint32_t entry_search(struct slot *s, uint64_t key)
{
	uint32_t n = load_relaxed(&s->entry_count);
	for (uint32_t i = 0; i < n; i++)
		if (load_relaxed(&s->keys[i]) == key) {
			s->last = (uint8_t)i;
			return i;
		}
	return ENTRY_NONE;
}

static void entry_clear(struct entry *e)
{
	store_release(&e->held, 0);
	store_release(&e->hold, 0);
	store_release(&e->since_ns, 0);
	store_release(&e->wait, 0);
	store_release(&e->waiting_since_ns, 0);
	store_release(&e->aux, 0);
}

/* Nothing held, no wait, and no evictions that charges of others refer to. */
static bool entry_idle(struct slot *s, uint32_t i)
{
	struct entry *e = &s->entries[i];
	if (load_relaxed(&e->held) || span_count(load_relaxed(&e->wait)))
		return false;
	struct cancel_resource r = resource_id(key_resource(load_relaxed(&s->keys[i])));
	return resource_type(r) != CANCEL_MEMORY || !load_relaxed(&e->aux);
}

/* Both spans are closed: their totals do not depend on the time. */
static void fold(struct slot *s, uint32_t i)
{
	struct entry *e = &s->entries[i];
	struct folded *f = entry_folded(s, key_resource(load_relaxed(&s->keys[i])));
	uint64_t aux = load_relaxed(&e->aux);
	store_release(&f->hold,
		span_add(load_relaxed(&f->hold), span_total_ns(load_relaxed(&e->hold), 0)));
	store_release(&f->wait,
		span_add(load_relaxed(&f->wait), span_total_ns(load_relaxed(&e->wait), 0)));
	store_release(&f->waits, load_relaxed(&f->waits) + (aux / AUX_WAIT & AUX_COUNT));
	store_release(&f->acquires, load_relaxed(&f->acquires) + aux / AUX_ACQUIRE);
	count_hot(s, HOT_entries_folded);
}

/* The search starts after the entry used last: that is the one most likely to be used again. */
static uint32_t find_idle(struct slot *s)
{
	for (uint32_t i = 1; i <= CANCEL_ENTRIES_MAX; i++) {
		uint32_t at = (s->last + i) % CANCEL_ENTRIES_MAX;
		if (entry_idle(s, at))
			return at;
	}
	return ENTRY_NONE;
}

uint32_t entry_take(struct slot *s, uint64_t key)
{
	uint32_t n = load_relaxed(&s->entry_count);
	uint32_t layout = load_relaxed(&s->layout);
	if (likely(n < CANCEL_ENTRIES_MAX)) {
		entry_clear(&s->entries[n]);
		store_release(&s->keys[n], key);
		store_release(&s->entry_count, (uint8_t)(n + 1));
		s->last = (uint8_t)n;
		return n;
	}
	uint32_t i = find_idle(s);
	if (i == ENTRY_NONE)
		return ENTRY_NONE;
	store_relaxed(&s->layout, layout + 1);
	fold(s, i);
	entry_clear(&s->entries[i]);
	store_release(&s->keys[i], key);
	store_release(&s->layout, layout + 2);
	s->last = (uint8_t)i;
	return i;
}
