/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.c - reads slots that others are writing.
 *
 * Three things can happen while a slot is read. The task may end and another begin: the word is
 * loaded before and after, and a task that has begun to end was not there (totals.c has it).
 * Entries may change their meaning or an episode close: `layout` is loaded before and after, and
 * odd or different means read again. Amounts may change: each word is consistent alone (span.h), so
 * the copy is some instant's truth to within the instructions of one call.
 *
 * Every load between is an acquire and every store a release; those that change the meaning of a
 * word stand behind an odd `layout` (entry.c, task.c), and amounts stand behind the meaning they
 * were written for (usage.c). So a reader that saw any of them sees the odd or the next value when
 * it looks again, whatever the machine's own order.
 */
#include "libcancel/track/read.h"

#include "libcancel/track/entry.h"
#include "libcancel/track/eviction.h"
#include "libcancel/track/library_state.h"
#include "libcancel/track/state_word.h"
#include "libcancel/track/task.h"

#define READ_TRIES 4

static enum cancel_task_state public_state(enum slot_state state)
{
	switch (state) {
	case SLOT_BLOCKED:
		return CANCEL_BLOCKED;
	case SLOT_DELIVERING:
		return CANCEL_DELIVERING;
	case SLOT_DELIVERED:
		return CANCEL_DELIVERED;
	default:
		return CANCEL_RUNNING;
	}
}

/* Nesting counts, one field a mode, as a mask of modes and a sum. */
static inline void read_lock(uint64_t held, uint32_t width_log2, struct cancel_ledger_entry *e)
{
	uint32_t width = 1u << width_log2;
	uint64_t field = ((uint64_t)1 << width) - 1;
	uint64_t nesting = held & field;
	uint32_t modes = nesting != 0;
	for (uint32_t bit = 2; (held >>= width) != 0; bit <<= 1) {
		nesting += held & field;
		modes |= held & field ? bit : 0;
	}
	e->held_modes = (uint8_t)modes;
	e->held = nesting;
}

/* The part of an entry that most do not have. */
static inline void read_wait(const struct entry *from, uint64_t wait, uint64_t now_ns, bool lock,
	struct cancel_ledger_entry *e)
{
	e->wait_ns = span_total_ns(wait, now_ns);
	if (!span_count(wait))
		return;
	e->waiting_since_ns = load_acquire(&from->waiting_since_ns);
	if (lock)
		e->wanted_mode = (uint8_t)(load_acquire(&from->aux) & AUX_WANTED);
}

/* Assigned field by field: this runs for every entry of every task in every window. */
static inline void read_entry(const struct slot *s, uint32_t i, uint64_t key, uint64_t generation,
	uint64_t now_ns, struct cancel_ledger_entry *e)
{
	const struct entry *from = &s->entries[i];
	struct cancel_resource id = resource_id(key_resource(key));
	uint64_t held = load_acquire(&from->held);
	uint64_t hold = load_acquire(&from->hold);
	uint64_t since_ns = load_acquire(&from->since_ns);
	uint64_t wait = load_acquire(&from->wait);
	e->resource = (uint8_t)key_resource(key);
	e->held_modes = 0;
	e->wanted_mode = 0;
	e->instance = key_instance(key);
	e->held = held;
	e->held_since_ns = span_count(hold) ? since_ns : 0;
	e->hold_ns = span_total_ns(hold, now_ns);
	e->waiting_since_ns = 0;
	e->wait_ns = 0;
	e->evicted = 0;
	e->stall_caused_ns = 0;
	if (wait)
		read_wait(from, wait, now_ns, resource_type(id) == CANCEL_LOCK, e);
	if (resource_type(id) == CANCEL_LOCK) {
		read_lock(held, resource_width_log2(id), e);
	} else if (resource_type(id) == CANCEL_MEMORY) {
		e->evicted = load_acquire(&from->aux);
		if (e->evicted)
			e->stall_caused_ns = eviction_charged_ns(s, generation, e->resource);
	}
}

static void read_folded(const struct slot *s, uint64_t mask, uint64_t now_ns, struct ended_use *use)
{
	for (; mask; mask &= mask - 1) {
		uint32_t r = (uint32_t)__builtin_ctzll(mask);
		const struct folded *f = &s->side->folded[r];
		use[r] = (struct ended_use){
			.wait_ns = span_total_ns(load_acquire(&f->wait), now_ns),
			.hold_ns = span_total_ns(load_acquire(&f->hold), now_ns),
			.evicted = load_acquire(&f->evicted),
			.waits = load_acquire(&f->waits),
			.acquires = load_acquire(&f->acquires),
		};
	}
}

static void add_folded(uint64_t mask, bool slo, const struct ended_use *use, struct ended_use *sum)
{
	for (; mask; mask &= mask - 1) {
		uint32_t r = (uint32_t)__builtin_ctzll(mask);
		struct ended_use counted = use[r];
		if (!slo)
			counted.wait_ns = 0;
		ended_use_add(&sum[r], &counted);
	}
}

static void read_task(
	const struct slot *s, uint64_t word, uint64_t now_ns, struct cancel_ledger_task *t)
{
	uint64_t start_ns = load_acquire(&s->episode_start_ns);
	uint64_t open_ns = start_ns && now_ns > start_ns ? now_ns - start_ns : 0;
	*t = (struct cancel_ledger_task){
		.id = id_make(s->index, generation_in(word)),
		.sequence = load_acquire(&s->sequence),
		.key = load_acquire(&s->key),
		.signature = load_acquire(&s->signature),
		.episode_start_ns = start_ns,
		.slo_ns = task_slo_ns(s),
		.active_ns = load_acquire(&s->active_ns) + open_ns,
		.progress_done = load_acquire(&s->progress_done),
		.progress_expected = load_acquire(&s->progress_expected),
		.rollback_ns = load_acquire(&s->rollback_ns),
		.slot = s->index,
		.class_index = load_acquire(&s->class_index),
		.state = (uint8_t)public_state(state_in(word)),
		.flags = load_acquire(&s->flags),
	};
	if (t->flags & SLOT_HAS_ORIGIN) {
		t->flags &= (uint8_t)~SLOT_HAS_ORIGIN;
		t->origin = load_relaxed(&s->cold->origin);
	}
	t->rank = load_relaxed(&library_state.classes[t->class_index % CANCEL_CLASSES_MAX].rank);
}

static uint8_t read_entries(const struct slot *s, uint64_t generation, uint64_t now_ns,
	uint32_t resource_limit, struct cancel_ledger_entry *entries)
{
	uint8_t used = 0;
	uint32_t n = load_acquire(&s->entry_count);
	for (uint32_t i = 0; i < n && i < CANCEL_ENTRIES_MAX; i++) {
		uint64_t key = load_acquire(&s->keys[i]);
		if (likely(key_resource(key) < resource_limit))
			read_entry(s, i, key, generation, now_ns, &entries[used++]);
	}
	return used;
}

enum read_answer slot_read(struct slot *s, uint64_t now_ns, uint32_t resource_limit,
	struct cancel_ledger_task *task, struct cancel_ledger_entry *entries,
	struct ended_use *folded)
{
	struct ended_use use[CANCEL_RESOURCES_MAX]; /* only those in the mask are set */
	uint64_t word = load_acquire(&s->state_word);
	for (int tries = 0; tries < READ_TRIES; tries++) {
		if (state_in(word) <= SLOT_ENDING)
			return READ_NONE;
		uint32_t layout = load_acquire(&s->layout);
		read_task(s, word, now_ns, task);
		task->entry_count =
			read_entries(s, generation_in(word), now_ns, resource_limit, entries);
		uint64_t mask = load_acquire(&s->folded_mask);
		read_folded(s, mask, now_ns, use);
		bool same = load_acquire(&s->layout) == layout && !(layout & 1);
		uint64_t again = load_acquire(&s->state_word);
		if (generation_in(again) != generation_in(word) || state_in(again) <= SLOT_ENDING)
			return READ_NONE;
		if (same) {
			add_folded(mask, task->slo_ns != 0, use, folded);
			return READ_LIVE;
		}
		word = again;
	}
	return READ_TORN;
}
