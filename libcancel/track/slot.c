/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.c - owns the memory of the slots and their free lists.
 *
 * A free slot is on one of sixteen lists (a thread uses its own, and others' when that is empty)
 * or not yet used (above slot_high). A list head is index + 1 in the low half and a tag in the high
 * half that every change increments, so a slot that left and came back between load and
 * compare-and-swap is noticed. Reading next_free of a slot that somebody else just took is
 * harmless: slots are never unmapped, and the tag makes the swap fail.
 */
#include "libcancel/track/slot.h"

#include <sys/mman.h>

#include "libcancel/track/library_state.h"

#define LISTS 16u

struct free_list {
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t head;
};

_Thread_local struct slot *current_slot;
struct slot_chunk *_Atomic slot_chunks[SLOT_CHUNKS_MAX];
_Atomic uint32_t slot_high;
static struct free_list lists[LISTS];
static _Atomic uint32_t next_list;

static uint32_t own_list(void)
{
	static _Thread_local uint32_t list; /* + 1 */
	if (unlikely(!list))
		list = add_relaxed(&next_list, 1) % LISTS + 1;
	return list - 1;
}

int slots_reserve(uint32_t wanted)
{
	for (uint32_t c = 0; c * SLOTS_PER_CHUNK < wanted; c++) {
		if (load_relaxed(&slot_chunks[c]))
			continue;
		void *memory = mmap(NULL, sizeof(struct slot_chunk), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			return CANCEL_ENOMEM;
		store_release(&slot_chunks[c], memory);
	}
	return 0;
}

static struct slot *list_pop(struct free_list *list)
{
	uint64_t head = load_acquire(&list->head);
	while ((uint32_t)head) {
		uint32_t index = (uint32_t)head - 1;
		struct slot *s = slot_at(index);
		if (unlikely(!s)) {
			library_disable("a free list names a slot that does not exist");
			return NULL;
		}
		uint64_t next = ((head >> 32) + 1) << 32 | load_relaxed(&s->next_free);
		if (cas_acq_rel(&list->head, &head, next))
			return s;
	}
	return NULL;
}

/* A slot above slot_high gets its constants here, so that unused ones stay unmapped pages. Readers
 * look at nothing but the word until it is not free any more. */
static struct slot *prepare(uint32_t index)
{
	struct slot *s = slot_at(index);
	if (unlikely(!s)) {
		library_disable("max_tasks is beyond the slots reserved");
		return NULL;
	}
	if (!s->cold) {
		struct slot_chunk *chunk = load_acquire(&slot_chunks[index / SLOTS_PER_CHUNK]);
		s->cold = &chunk->cold[index % SLOTS_PER_CHUNK];
		s->side = &chunk->side[index % SLOTS_PER_CHUNK];
		s->index = index;
		store_relaxed(
			&s->state_word, (uint64_t)1 << STATE_WORD_GENERATION_SHIFT | SLOT_FREE);
	}
	return s;
}

static struct slot *take_unused(void)
{
	uint32_t limit = load_relaxed(&library_state.max_tasks);
	uint32_t high = load_relaxed(&slot_high);
	while (high < limit)
		if (cas_acq_rel(&slot_high, &high, high + 1))
			return prepare(high);
	return NULL;
}

/* Others' lists come before unused slots: what the controller has to look at stays short even when
 * one thread creates what another frees. */
struct slot *slot_take(void)
{
	uint32_t own = own_list();
	for (uint32_t i = 0; i < LISTS; i++) {
		struct slot *s = list_pop(&lists[(own + i) % LISTS]);
		if (likely(s))
			return s;
	}
	return take_unused();
}

void slot_give(struct slot *s)
{
	struct free_list *list = &lists[own_list()];
	uint64_t head = load_relaxed(&list->head);
	do
		store_relaxed(&s->next_free, (uint32_t)head);
	while (!cas_acq_rel(&list->head, &head, ((head >> 32) + 1) << 32 | (s->index + 1)));
}

void slots_forget(void)
{
	uint32_t high = load_relaxed(&slot_high);
	for (uint32_t i = 0; i < high; i++) {
		struct slot *s = slot_at(i);
		uint64_t generation = generation_in(load_relaxed(&s->state_word)) + 1;
		store_relaxed(
			&s->state_word, generation << STATE_WORD_GENERATION_SHIFT | SLOT_FREE);
		store_relaxed(&s->layout, 0);
		store_relaxed(&s->folded_mask, 0);
		for (uint32_t r = 0; s->side && r < CANCEL_RESOURCES_MAX; r++)
			folded_clear(&s->side->folded[r]);
	}
	for (uint32_t i = 0; i < LISTS; i++)
		store_relaxed(&lists[i].head, 0);
	store_relaxed(&slot_high, 0);
	current_slot = NULL;
}
