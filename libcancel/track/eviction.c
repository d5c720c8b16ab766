/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eviction.c - who took memory from whom, and whose stall that was.
 *
 * An eviction is one store in the evictor's own slot. A stall is charged by its victim to the
 * slot of the evictor, which another thread owns; so that is the one place where a task writes to
 * another's block. The word there is the low 16 bits of the generation over 48 bits of time, and
 * changes by compare-and-swap only: a charge for a task that has ended in the meantime either
 * finds its own generation still in the word and is lost with it, or finds another and starts the
 * word anew with its own, which readers then ignore. A task clears the word at its first eviction,
 * before anybody can have reason to charge it; so what an ended task was charged with never reaches
 * a later one of its slot (short of 65,536 tasks on the slot during one call).
 *
 * Ending a wait is hot and must not swap, so the length of a stall is kept in the victim's own
 * block and charged at its next miss, when it leaves its thread, or at its end.
 */
#include "libcancel/track/entry.h"
#include "libcancel/track/eviction.h"
#include "libcancel/track/state_word.h"
#include "libcancel/track/totals.h"

#define CHARGE_NS_BITS 48
#define CHARGE_NS_MAX  (((uint64_t)1 << CHARGE_NS_BITS) - 1)

static inline uint64_t charge_tag(uint64_t generation)
{
	return generation << CHARGE_NS_BITS;
}

static inline uint64_t charge_add(uint64_t charge, uint64_t tag, uint64_t ns)
{
	uint64_t sum = (charge & ~CHARGE_NS_MAX) == tag ? charge & CHARGE_NS_MAX : 0;
	sum += ns;
	return tag | (sum < CHARGE_NS_MAX ? sum : CHARGE_NS_MAX);
}

uint64_t eviction_charged_ns(const struct slot *s, uint64_t generation, uint32_t resource)
{
	uint64_t charge = load_acquire(&s->side->stall_ns[resource]);
	return (charge & ~CHARGE_NS_MAX) == charge_tag(generation) ? charge & CHARGE_NS_MAX : 0;
}

static void charge(struct slot *from, uint64_t evictor, uint32_t resource, uint64_t ns)
{
	struct slot *to = slot_at(id_index(evictor));
	if (!to || !state_word_is(load_acquire(&to->state_word), evictor)) {
		struct ended_use use = { .orphan_stall_ns = ns };
		totals_use(totals_bank(from->index), resource, &use);
		return;
	}
	uint64_t tag = charge_tag(id_generation(evictor));
	_Atomic uint64_t *word = &to->side->stall_ns[resource];
	uint64_t old = load_relaxed(word);
	while (!cas_relaxed(word, &old, charge_add(old, tag, ns)))
		;
}

/* The load first: the word's page may never have been touched. */
static void charge_begin(struct slot *s, uint32_t resource)
{
	_Atomic uint64_t *word = &s->side->stall_ns[resource];
	if (load_relaxed(word))
		store_relaxed(word, 0);
}

void eviction_flush(struct slot *s)
{
	struct slot_cold *cold = s->cold;
	if (!cold->pending_resource || !cold->pending_ended)
		return;
	charge(s, cold->pending_evictor, cold->pending_resource - 1, cold->pending_ns);
	cold->pending_resource = 0;
}

void eviction_stall_ended(struct slot *s, struct cancel_resource r, uint64_t stall_ns)
{
	struct slot_cold *cold = s->cold;
	if (cold->pending_resource != resource_index(r) + 1 || cold->pending_ended)
		return;
	cold->pending_ns = stall_ns;
	cold->pending_ended = true;
}

static struct slot *memory_caller(struct cancel_resource r)
{
	struct slot *s = current_slot;
	if (unlikely(!s)) {
		count_untracked();
		return NULL;
	}
	if (unlikely(!resource_valid(r))) {
		if (r.id)
			count_hot(s, HOT_bad_resource);
		return NULL;
	}
	if (unlikely(resource_type(r) != CANCEL_MEMORY)) {
		count_hot(s, HOT_wrong_type);
		return NULL;
	}
	return s;
}

void cancel_evict(struct cancel_resource r, struct cancel_task owner, uint64_t units)
{
	struct slot *s = memory_caller(r);
	if (unlikely(!s) || !units)
		return;
	if (owner.id == id_make(s->index, generation_in(load_relaxed(&s->state_word))))
		return;
	uint64_t key = entry_key(r, 0);
	uint32_t i = entry_find(s, key);
	if (unlikely(i == ENTRY_NONE) && (i = entry_take(s, key)) == ENTRY_NONE) {
		bump_release(&entry_folded(s, resource_index(r))->evicted, units);
		count_hot(s, HOT_entries_dropped);
		return;
	}
	uint64_t before = load_relaxed(&s->entries[i].aux);
	if (!before)
		charge_begin(s, resource_index(r));
	store_release(&s->entries[i].aux, before + units);
}

void cancel_miss(struct cancel_resource r, struct cancel_task evictor)
{
	struct slot *s = memory_caller(r);
	if (unlikely(!s))
		return;
	struct slot_cold *cold = s->cold;
	eviction_flush(s);
	cold->pending_resource = 0;
	if (!evictor.id ||
		evictor.id == id_make(s->index, generation_in(load_relaxed(&s->state_word))))
		return;
	cold->pending_evictor = evictor.id;
	cold->pending_resource = resource_index(r) + 1;
	cold->pending_ended = false;
}
