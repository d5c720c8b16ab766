/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.c - the hot calls: waiting for a resource, getting it, giving it back.
 *
 * All by the thread the task is bound to, which is the only writer of its slot: loads and relaxed
 * stores, no read-modify-write, no lock, no allocation. A reader may see one word of an entry
 * changed and the next not yet; each word is meaningful alone (span.h), so the worst it gets is a
 * hold whose count is one instruction old. What a wait for MEMORY means to others is memory.c's.
 */
#include "libcancel/track/usage.h"

#include "libcancel/track/entry.h"
#include "libcancel/track/task.h"
#include "libcancel/track/totals.h"

/* ---- Amounts ------------------------------------------------------------------------------- */

static inline uint64_t mode_field(struct cancel_resource r, uint64_t mode)
{
	return (uint64_t)1 << ((mode - 1) * resource_mode_width(r));
}

static inline uint64_t mode_max(struct cancel_resource r)
{
	return ((uint64_t)1 << resource_mode_width(r)) - 1;
}

static inline uint64_t mode_count(struct cancel_resource r, uint64_t held, uint64_t mode)
{
	return held >> ((mode - 1) * resource_mode_width(r)) & mode_max(r);
}

/* What a span counts: slots of a QUEUE, 0 or 1 of everything else. */
static inline uint32_t hold_count(struct cancel_resource r, uint64_t held)
{
	if (resource_type(r) == CANCEL_QUEUE)
		return held < SPAN_COUNT_MAX ? (uint32_t)held : SPAN_COUNT_MAX;
	return held != 0;
}

/* A resource of ours and, for a LOCK, a mode it has. */
static inline bool usable(struct slot *s, struct cancel_resource r, uint64_t amount)
{
	if (unlikely(!resource_valid(r))) {
		if (r.id)
			count_hot(s, HOT_bad_resource);
		return false;
	}
	if (resource_type(r) == CANCEL_LOCK && unlikely(amount - 1 >= resource_modes(r))) {
		count_hot(s, HOT_wrong_mode);
		return false;
	}
	return true;
}

/* ---- Beyond sixteen entries: totals only ------------------------------------------------- */

static void folded_slow(struct slot *s, struct cancel_resource r)
{
	struct folded *f = entry_folded(s, resource_index(r));
	uint64_t wait = load_relaxed(&f->wait);
	if (span_count(wait) < SPAN_COUNT_MAX)
		store_relaxed(&f->wait, span_change(wait, span_count(wait) + 1, clock_stamp_ns()));
	bump_relaxed(&f->waits, 1);
	count_hot(s, HOT_entries_dropped);
}

static bool folded_end_wait(struct slot *s, struct cancel_resource r)
{
	struct folded *f = entry_folded(s, resource_index(r));
	uint64_t wait = load_relaxed(&f->wait);
	if (!span_count(wait))
		return false;
	store_relaxed(&f->wait, span_change(wait, span_count(wait) - 1, clock_stamp_ns()));
	return true;
}

static void folded_get(struct slot *s, struct cancel_resource r)
{
	struct folded *f = entry_folded(s, resource_index(r));
	uint64_t hold = load_relaxed(&f->hold);
	folded_end_wait(s, r);
	if (span_count(hold) < SPAN_COUNT_MAX)
		store_relaxed(&f->hold, span_change(hold, span_count(hold) + 1, clock_stamp_ns()));
	bump_relaxed(&f->acquires, 1);
	count_hot(s, HOT_entries_dropped);
}

static bool folded_release(struct slot *s, struct cancel_resource r)
{
	struct folded *f = entry_folded(s, resource_index(r));
	uint64_t hold = load_relaxed(&f->hold);
	if (!span_count(hold))
		return false;
	store_relaxed(&f->hold, span_change(hold, span_count(hold) - 1, clock_stamp_ns()));
	return true;
}

/* ---- The calls ----------------------------------------------------------------------------- */

static void end_wait(struct slot *s, struct cancel_resource r, struct entry *e, uint64_t now_ns)
{
	uint64_t since_ns = load_relaxed(&e->waiting_since_ns);
	store_relaxed(&e->wait, span_change(load_relaxed(&e->wait), 0, now_ns));
	if (resource_type(r) == CANCEL_MEMORY)
		memory_stall_ended(s, r, now_ns > since_ns ? now_ns - since_ns : 0);
}

void cancel_slow(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	struct slot *s = current_slot;
	if (unlikely(!s)) {
		count_untracked();
		return;
	}
	if (unlikely(!usable(s, r, amount)))
		return;
	uint64_t key = entry_key(r, instance);
	uint32_t i = entry_find(s, key);
	if (unlikely(i == ENTRY_NONE) && (i = entry_take(s, key)) == ENTRY_NONE) {
		folded_slow(s, r);
		return;
	}
	struct entry *e = &s->entries[i];
	uint64_t now_ns = clock_stamp_ns();
	uint64_t wait = load_relaxed(&e->wait);
	if (resource_type(r) != CANCEL_MEMORY) {
		uint64_t aux = load_relaxed(&e->aux) & ~(uint64_t)AUX_WANTED;
		uint64_t mode = resource_type(r) == CANCEL_LOCK ? amount : 0;
		store_relaxed(&e->aux, (aux | mode) + (span_count(wait) ? 0 : AUX_WAIT));
	}
	if (span_count(wait)) /* waits already: perhaps for another mode now */
		return;
	store_relaxed(&e->waiting_since_ns, now_ns);
	store_relaxed(&e->wait, span_change(wait, 1, now_ns));
}

void cancel_get(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	struct slot *s = current_slot;
	if (unlikely(!s)) {
		count_untracked();
		return;
	}
	if (unlikely(!usable(s, r, amount)))
		return;
	uint64_t key = entry_key(r, instance);
	uint32_t i = entry_find(s, key);
	if (unlikely(i == ENTRY_NONE) && (i = entry_take(s, key)) == ENTRY_NONE) {
		folded_get(s, r);
		return;
	}
	struct entry *e = &s->entries[i];
	uint64_t now_ns = clock_stamp_ns();
	uint64_t held = load_relaxed(&e->held);
	if (unlikely(span_count(load_relaxed(&e->wait))))
		end_wait(s, r, e, now_ns);
	if (resource_type(r) == CANCEL_LOCK) {
		if (likely(mode_count(r, held, amount) < mode_max(r)))
			held += mode_field(r, amount);
		else
			count_hot(s, HOT_nesting_saturated);
	} else {
		held += amount;
	}
	uint64_t hold = load_relaxed(&e->hold);
	uint32_t n = hold_count(r, held);
	if (!span_count(hold))
		store_relaxed(&e->since_ns, now_ns);
	if (n != span_count(hold))
		store_relaxed(&e->hold, span_change(hold, n, now_ns));
	store_relaxed(&e->held, held);
	if (resource_type(r) != CANCEL_MEMORY)
		bump_relaxed(&e->aux, AUX_ACQUIRE);
}

static void release_unknown(struct slot *s, struct cancel_resource r)
{
	if (!folded_release(s, r))
		count_hot(s, HOT_release_without_acquire);
}

void cancel_release(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	struct slot *s = current_slot;
	if (unlikely(!s)) {
		count_untracked();
		return;
	}
	if (unlikely(!usable(s, r, amount)))
		return;
	uint32_t i = entry_find(s, entry_key(r, instance));
	if (unlikely(i == ENTRY_NONE)) {
		release_unknown(s, r);
		return;
	}
	struct entry *e = &s->entries[i];
	uint64_t held = load_relaxed(&e->held);
	bool lock = resource_type(r) == CANCEL_LOCK;
	if (unlikely(lock ? !mode_count(r, held, amount) : amount > held)) {
		count_hot(s, HOT_double_release);
		if (lock)
			return;
		amount = held;
	}
	held -= lock ? mode_field(r, amount) : amount;
	uint64_t hold = load_relaxed(&e->hold);
	uint32_t n = hold_count(r, held);
	store_relaxed(&e->held, held);
	if (n != span_count(hold)) {
		store_relaxed(&e->hold, span_change(hold, n, clock_stamp_ns()));
		if (unlikely(load_relaxed(&s->watch_mask)))
			task_check_released(s);
	}
}

void cancel_give_up(struct cancel_resource r, uint32_t instance)
{
	struct slot *s = current_slot;
	if (unlikely(!s)) {
		count_untracked();
		return;
	}
	if (unlikely(!resource_valid(r))) {
		if (r.id)
			count_hot(s, HOT_bad_resource);
		return;
	}
	uint32_t i = entry_find(s, entry_key(r, instance));
	if (likely(i != ENTRY_NONE && span_count(load_relaxed(&s->entries[i].wait))))
		end_wait(s, r, &s->entries[i], clock_stamp_ns());
	else if (!folded_end_wait(s, r))
		count_hot(s, HOT_give_up_without_wait);
}

/* ---- The end ------------------------------------------------------------------------------- */

static void end_entry(struct slot *s, uint32_t i, uint64_t now_ns, struct ended_use *use)
{
	struct entry *e = &s->entries[i];
	uint64_t aux = load_relaxed(&e->aux);
	const struct resource *r = resource_at(key_resource(load_relaxed(&s->keys[i])));
	if (unlikely(load_relaxed(&e->held)))
		count(CANCEL_COUNT_leaked_holds);
	if (unlikely(span_count(load_relaxed(&e->wait))))
		count(CANCEL_COUNT_leaked_waits);
	use->wait_ns = span_total_ns(load_relaxed(&e->wait), now_ns);
	use->hold_ns = span_total_ns(load_relaxed(&e->hold), now_ns);
	if (resource_type(r->id) == CANCEL_MEMORY) {
		use->evicted = aux;
		return;
	}
	use->waits = aux / AUX_WAIT & AUX_COUNT;
	use->acquires = aux / AUX_ACQUIRE;
}

static void end_folded(struct slot *s, uint32_t resource, uint64_t now_ns, struct ended_use *use)
{
	struct folded *f = &s->side->folded[resource];
	if (span_count(load_relaxed(&f->hold)))
		count(CANCEL_COUNT_leaked_holds);
	if (span_count(load_relaxed(&f->wait)))
		count(CANCEL_COUNT_leaked_waits);
	use->wait_ns = span_total_ns(load_relaxed(&f->wait), now_ns);
	use->hold_ns = span_total_ns(load_relaxed(&f->hold), now_ns);
	use->evicted = load_relaxed(&f->evicted);
	use->waits = load_relaxed(&f->waits);
	use->acquires = load_relaxed(&f->acquires);
	folded_clear(f);
}

void usage_end(struct slot *s, uint64_t now_ns)
{
	bool slo = task_slo_ns(s) != 0;
	uint32_t n = load_relaxed(&s->entry_count);
	memory_flush(s);
	for (uint32_t i = 0; i < n; i++) {
		struct ended_use use = { 0 };
		end_entry(s, i, now_ns, &use);
		if (!slo)
			use.wait_ns = 0;
		totals_use(key_resource(load_relaxed(&s->keys[i])), &use);
	}
	for (uint64_t mask = load_relaxed(&s->folded_mask); mask; mask &= mask - 1) {
		struct ended_use use = { 0 };
		uint32_t r = (uint32_t)__builtin_ctzll(mask);
		end_folded(s, r, now_ns, &use);
		if (!slo)
			use.wait_ns = 0;
		totals_use(r, &use);
	}
	store_relaxed(&s->folded_mask, 0);
	store_relaxed(&s->entry_count, 0);
}
