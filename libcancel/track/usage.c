/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage.c - the hot calls: waiting for a resource, getting it, giving it back.
 *
 * All by the thread the task is bound to, which is the only writer of its slot: loads and stores,
 * no read-modify-write, no lock, no allocation. The stores are releases, though each word is
 * consistent alone: what an entry means (its key, the task in the slot) was written before them,
 * and a reader that sees a new amount must see a new meaning too when it looks again (read.c). On
 * x86 that is the same instruction; on ARM the order must be asked for. A reader may see one word
 * of an entry changed and the next not yet; each word is meaningful alone (span.h), so the worst it
 * gets is a hold whose count is one instruction old. What a wait for MEMORY means to others is
 * eviction.c's.
 */
#include "libcancel/track/eviction.h"

#include "libcancel/track/entry.h"
#include "libcancel/track/task.h"
#include "libcancel/track/totals.h"

/* ---- Amounts --------------------------------------------------------------------------------- */

static inline uint32_t mode_shift(struct cancel_resource r, uint64_t mode)
{
	return ((uint32_t)mode - 1) << resource_width_log2(r);
}

static inline uint64_t mode_max(struct cancel_resource r)
{
	return ((uint64_t)1 << (1u << resource_width_log2(r))) - 1;
}

static inline uint64_t mode_count(struct cancel_resource r, uint64_t held, uint64_t mode)
{
	return held >> mode_shift(r, mode) & mode_max(r);
}

/* A resource of ours and, for a LOCK, a mode it has. */
static inline bool usable(struct cancel_resource r, uint64_t amount)
{
	if (resource_type(r) == CANCEL_LOCK)
		return amount - 1 < resource_modes(r) && resource_valid(r);
	return resource_valid(r);
}

/* No current task, or an id or a mode that does not exist. */
static cold_path void not_usable(struct cancel_resource r)
{
	struct slot *s = current_slot;
	if (!s)
		count_untracked();
	else if (r.id)
		count_hot(s, resource_valid(r) ? HOT_wrong_mode : HOT_bad_resource);
}

/* What a hold's span counts: slots of a QUEUE, held or not of everything else. Here: a QUEUE of
 * which this task has more than one. */
static cold_path void slots_change(struct entry *e, uint64_t held, uint64_t now_ns)
{
	uint32_t counted = held < SPAN_COUNT_MAX ? (uint32_t)held : SPAN_COUNT_MAX;
	store_release(&e->hold, span_change(load_relaxed(&e->hold), counted, now_ns));
}

static inline bool several_slots(struct cancel_resource r, uint64_t before, uint64_t after)
{
	return resource_type(r) == CANCEL_QUEUE && (before | after) > 1;
}

/* ---- Beyond sixteen entries: totals only ----------------------------------------------------- */

static void folded_slow(struct slot *s, struct cancel_resource r)
{
	struct folded *f = entry_folded(s, resource_index(r));
	uint64_t wait = load_relaxed(&f->wait);
	if (span_count(wait) < SPAN_COUNT_MAX)
		store_release(&f->wait, span_step(wait, 1, clock_stamp_ns()));
	bump_release(&f->waits, 1);
	count_hot(s, HOT_entries_dropped);
}

static bool folded_end_wait(struct slot *s, struct cancel_resource r)
{
	struct folded *f = entry_folded(s, resource_index(r));
	uint64_t wait = load_relaxed(&f->wait);
	if (!span_count(wait))
		return false;
	store_release(&f->wait, span_step(wait, -1, clock_stamp_ns()));
	return true;
}

/* An amount of 0 ends a wait and holds nothing. */
static void folded_get(struct slot *s, struct cancel_resource r, uint64_t amount)
{
	struct folded *f = entry_folded(s, resource_index(r));
	uint64_t hold = load_relaxed(&f->hold);
	folded_end_wait(s, r);
	if (amount && span_count(hold) < SPAN_COUNT_MAX)
		store_release(&f->hold, span_step(hold, 1, clock_stamp_ns()));
	bump_release(&f->acquires, 1);
	count_hot(s, HOT_entries_dropped);
}

static bool folded_release(struct slot *s, struct cancel_resource r)
{
	if (!(load_relaxed(&s->folded_mask) >> resource_index(r) & 1))
		return false;
	struct folded *f = entry_folded(s, resource_index(r));
	uint64_t hold = load_relaxed(&f->hold);
	if (!span_count(hold))
		return false;
	store_release(&f->hold, span_step(hold, -1, clock_stamp_ns()));
	if (load_relaxed(&s->watch_mask))
		task_check_released(s);
	return true;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static cold_path void end_wait(
	struct slot *s, struct cancel_resource r, struct entry *e, uint64_t now_ns)
{
	uint64_t since_ns = load_relaxed(&e->waiting_since_ns);
	store_release(&e->wait, span_step(load_relaxed(&e->wait), -1, now_ns));
	if (resource_type(r) == CANCEL_MEMORY)
		eviction_stall_ended(s, r, now_ns > since_ns ? now_ns - since_ns : 0);
}

/* LOCK: the mode it wants; a task that waits already may have changed its mind. */
static void want(struct entry *e, struct cancel_resource r, uint64_t amount, bool waits)
{
	uint64_t aux = load_relaxed(&e->aux) & ~(uint64_t)AUX_WANTED;
	uint64_t mode = resource_type(r) == CANCEL_LOCK ? amount : 0;
	if (resource_type(r) != CANCEL_MEMORY)
		store_release(&e->aux, (aux | mode) + (waits ? 0 : AUX_WAIT));
}

void cancel_wait_for(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	struct slot *s = current_slot;
	if (unlikely(!s || !usable(r, amount))) {
		not_usable(r);
		return;
	}
	uint64_t key = entry_key(r, instance);
	uint32_t i = entry_find(s, key);
	if (unlikely(i == ENTRY_NONE) && (i = entry_take(s, key)) == ENTRY_NONE) {
		folded_slow(s, r);
		return;
	}
	struct entry *e = &s->entries[i];
	uint64_t wait = load_relaxed(&e->wait);
	want(e, r, amount, span_count(wait));
	if (span_count(wait))
		return;
	uint64_t now_ns = clock_stamp_ns();
	store_release(&e->waiting_since_ns, now_ns);
	store_release(&e->wait, span_step(wait, 1, now_ns));
}

void cancel_give_up(struct cancel_resource r, uint32_t instance)
{
	struct slot *s = current_slot;
	if (unlikely(!s || !resource_valid(r))) {
		not_usable(r);
		return;
	}
	uint32_t i = entry_find(s, entry_key(r, instance));
	if (likely(i != ENTRY_NONE && span_count(load_relaxed(&s->entries[i].wait))))
		end_wait(s, r, &s->entries[i], clock_stamp_ns());
	else if (!folded_end_wait(s, r))
		count_hot(s, HOT_give_up_without_wait);
}

/* ---- Holding --------------------------------------------------------------------------------- */

/* Amounts as they will be; a LOCK's are in its mode's field. */
static inline uint64_t in_field(struct cancel_resource r, uint64_t amount)
{
	return resource_type(r) == CANCEL_LOCK ? (uint64_t)1 << mode_shift(r, amount) : amount;
}

static cold_path uint64_t saturated(struct slot *s, uint64_t held)
{
	count_hot(s, HOT_nesting_saturated);
	return held;
}

static void hold_changed(
	struct entry *e, struct cancel_resource r, uint64_t before, uint64_t held, uint64_t now_ns)
{
	if (!before)
		store_release(&e->since_ns, now_ns);
	if (several_slots(r, before, held))
		slots_change(e, held, now_ns);
	else if (!before && held)
		store_release(&e->hold, span_step(load_relaxed(&e->hold), 1, now_ns));
	else if (before && !held)
		store_release(&e->hold, span_step(load_relaxed(&e->hold), -1, now_ns));
}

/* Any get: a new entry, the end of a wait, nesting, several slots, a precise stamp. */
static __attribute__((noinline)) void get_any(
	struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	struct slot *s = current_slot;
	if (unlikely(!s || !usable(r, amount))) {
		not_usable(r);
		return;
	}
	uint64_t key = entry_key(r, instance);
	uint32_t i = entry_find(s, key);
	if (unlikely(i == ENTRY_NONE) && (i = entry_take(s, key)) == ENTRY_NONE) {
		folded_get(s, r, amount);
		return;
	}
	struct entry *e = &s->entries[i];
	uint64_t now_ns = clock_stamp_ns();
	uint64_t before = load_relaxed(&e->held), held = before;
	if (resource_type(r) == CANCEL_LOCK && mode_count(r, held, amount) == mode_max(r))
		held = saturated(s, held);
	else
		held += in_field(r, amount);
	if (span_count(load_relaxed(&e->wait)))
		end_wait(s, r, e, now_ns);
	store_release(&e->held, held);
	hold_changed(e, r, before, held, now_ns);
	if (resource_type(r) != CANCEL_MEMORY)
		bump_release(&e->aux, AUX_ACQUIRE);
}

/* The amount of a usual call: a mode that exists, or 1 (an id says 1 mode where there are none). */
static inline bool usual(struct cancel_resource r, uint64_t amount)
{
	return amount - 1 < resource_modes(r);
}

static inline uint64_t usual_field(struct cancel_resource r, uint64_t amount)
{
	return (uint64_t)1 << mode_shift(r, amount);
}

/* The usual get is the first of what this task used last, without a wait, with a coarse stamp: then
 * nothing is called, and each word's store depends on that word's load alone. */
void cancel_acquire(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	struct slot *s = current_slot;
	uint64_t now_ns = load_relaxed(&clock_page.coarse_ns);
	if (likely(s && now_ns && usual(r, amount))) {
		struct entry *e = &s->entries[s->last];
		if (likely(load_relaxed(&s->keys[s->last]) == entry_key(r, instance) &&
			    !load_relaxed(&e->held) && !span_count(load_relaxed(&e->wait)))) {
			store_release(&e->held, usual_field(r, amount));
			store_release(&e->since_ns, now_ns);
			store_release(&e->hold, span_step(load_relaxed(&e->hold), 1, now_ns));
			if (resource_type(r) != CANCEL_MEMORY)
				bump_release(&e->aux, AUX_ACQUIRE);
			return;
		}
	}
	get_any(r, instance, amount);
}

static void release_unknown(struct slot *s, struct cancel_resource r)
{
	if (!folded_release(s, r))
		count_hot(s, HOT_release_without_acquire);
}

static bool enough_held(struct cancel_resource r, uint64_t held, uint64_t amount)
{
	return resource_type(r) == CANCEL_LOCK ? mode_count(r, held, amount) : amount <= held;
}

/* It may have been taken when all entries were in use, and again when one was not. */
static bool held_in_totals(struct slot *s, struct cancel_resource r, uint64_t held)
{
	return (!held || resource_type(r) == CANCEL_LOCK) && folded_release(s, r);
}

/* Any release. Too much of units or slots gives back what is held, of a mode nothing. */
static __attribute__((noinline)) void release_any(
	struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	struct slot *s = current_slot;
	if (unlikely(!s || !usable(r, amount))) {
		not_usable(r);
		return;
	}
	uint32_t i = entry_find(s, entry_key(r, instance));
	if (unlikely(i == ENTRY_NONE)) {
		release_unknown(s, r);
		return;
	}
	struct entry *e = &s->entries[i];
	uint64_t before = load_relaxed(&e->held), held = before;
	if (likely(enough_held(r, held, amount))) {
		held -= in_field(r, amount);
	} else if (!held_in_totals(s, r, held)) {
		count_hot(s, HOT_double_release);
		held = resource_type(r) == CANCEL_LOCK ? held : 0;
	}
	if (held == before)
		return;
	store_release(&e->held, held);
	hold_changed(e, r, before, held, clock_stamp_ns());
	if (unlikely(load_relaxed(&s->watch_mask)) && !held)
		task_check_released(s);
}

/* The usual release gives back all there is. */
void cancel_release(struct cancel_resource r, uint32_t instance, uint64_t amount)
{
	struct slot *s = current_slot;
	uint64_t now_ns = load_relaxed(&clock_page.coarse_ns);
	if (likely(s && now_ns && usual(r, amount))) {
		struct entry *e = &s->entries[s->last];
		if (likely(load_relaxed(&s->keys[s->last]) == entry_key(r, instance) &&
			    load_relaxed(&e->held) == usual_field(r, amount) &&
			    !load_relaxed(&s->watch_mask))) {
			store_release(&e->held, 0);
			store_release(&e->hold, span_step(load_relaxed(&e->hold), -1, now_ns));
			return;
		}
	}
	release_any(r, instance, amount);
}

/* ---- The end --------------------------------------------------------------------------------- */

static void end_entry(struct slot *s, uint32_t i, uint64_t now_ns, struct ended_use *use)
{
	struct entry *e = &s->entries[i];
	uint64_t aux = load_relaxed(&e->aux);
	struct cancel_resource r = resource_id(key_resource(load_relaxed(&s->keys[i])));
	if (unlikely(load_relaxed(&e->held)))
		count(CANCEL_COUNT_leaked_holds);
	if (unlikely(span_count(load_relaxed(&e->wait))))
		count(CANCEL_COUNT_leaked_waits);
	use->wait_ns = span_total_ns(load_relaxed(&e->wait), now_ns);
	use->hold_ns = span_total_ns(load_relaxed(&e->hold), now_ns);
	if (resource_type(r) == CANCEL_MEMORY) {
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
	struct bank *bank = totals_bank(s->index);
	eviction_flush(s);
	for (uint32_t i = 0; i < n; i++) {
		struct ended_use use = { 0 };
		end_entry(s, i, now_ns, &use);
		if (!slo)
			use.wait_ns = 0;
		totals_use(bank, key_resource(load_relaxed(&s->keys[i])), &use);
		store_release(&s->keys[i], 0);
	}
	for (uint64_t mask = load_relaxed(&s->folded_mask); mask; mask &= mask - 1) {
		struct ended_use use = { 0 };
		uint32_t r = (uint32_t)__builtin_ctzll(mask);
		end_folded(s, r, now_ns, &use);
		if (!slo)
			use.wait_ns = 0;
		totals_use(bank, r, &use);
	}
	store_release(&s->folded_mask, 0);
	store_release(&s->entry_count, 0);
}
