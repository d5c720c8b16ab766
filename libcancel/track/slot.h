/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slot.h - where a task lives: one type-stable slot of 1 KiB, and a cold block beside it.
 *
 * One writer: the thread the task is bound to. Readers: the controller and snapshots, at any time.
 * So every shared field is atomic, the owner stores relaxed, and a hot call never does a
 * read-modify-write. Three words of the slot have other writers, named beside them.
 *
 * Slots come in chunks that are mapped at start and never unmapped: a stale id leads to a slot of
 * another generation, never to unmapped memory.
 */
#ifndef CANCEL_TRACK_SLOT_H
#define CANCEL_TRACK_SLOT_H

#include <cancel/cancel.h>

#include <pthread.h>

#include "libcancel/sys/clock.h"
#include "libcancel/track/count.h"
#include "libcancel/track/span.h"

#define SLOT_INDEX_BITS 20
#define SLOTS_MAX	(1u << SLOT_INDEX_BITS)
#define SLOTS_PER_CHUNK 1024u
#define SLOT_CHUNKS_MAX (SLOTS_MAX / SLOTS_PER_CHUNK)

/* ---- The state word: generation | bound | state; see state_word.h for who may change what ---- */

enum slot_state {
	SLOT_FREE,
	SLOT_ENDING, /* its owner is folding it away */
	SLOT_RUNNING,
	SLOT_BLOCKED,
	SLOT_CHANGING, /* its owner exchanges the action or forgets a cancel; lasts moments */
	SLOT_DELIVERING,
	SLOT_DELIVERED, /* from here on … */
			/* cancelRequested compares with >= SLOT_DELIVERING */
};
#define STATE_WORD_STATE	    0x0fu
#define STATE_WORD_BOUND	    0x10u
#define STATE_WORD_GENERATION_SHIFT 8

struct entry {
	_Atomic uint64_t held;	   /* LOCK: nesting counts, one field a mode; else units or slots */
	_Atomic uint64_t hold;	   /* span; QUEUE: slot time */
	_Atomic uint64_t since_ns; /* start of the present hold; stale when there is none */
	_Atomic uint64_t wait;	   /* span */
	_Atomic uint64_t waiting_since_ns; /* stale when there is no wait */
	_Atomic uint64_t aux;		   /* MEMORY: units evicted; else see AUX_… */
};
/* aux of LOCK and QUEUE: wanted mode, waits, acquires. */
#define AUX_WANTED  0xffu
#define AUX_WAIT    (1ull << 8)
#define AUX_ACQUIRE (1ull << 36)
#define AUX_COUNT   0xfffffffu

struct slot {
	/* What the owner touches often. */
	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t
		state_word;	     /* owner and delivery thread, by compare-and-swap */
	_Atomic uint32_t layout;     /* odd while entries change their meaning; see slot_read */
	_Atomic uint8_t entry_count; /* keys[0 .. entry_count) are in use */
	_Atomic uint8_t class_index;
	_Atomic uint8_t flags;
	uint8_t last;		     /* index of the entry used last; owner only */
	_Atomic uint64_t watch_mask; /* blamed resources not given back yet; delivery sets it
					in DELIVERING, the owner clears it */
	_Atomic uint64_t progress_done, progress_expected;
	_Atomic uint64_t folded_mask; /* resources with something in cold.folded */
	_Atomic uint64_t episode_start_ns, active_ns;

	/* What it touches seldom. */
	_Atomic uint64_t sequence, key, signature, slo_ns, rollback_ns;
	struct slot_cold *cold;	    /* constant */
	struct slot_side *side;	    /* constant */
	uint32_t index;		    /* constant */
	_Atomic uint32_t next_free; /* index + 1, while on a free list */

	_Alignas(CACHE_LINE_BYTES) _Atomic uint64_t
		keys[CANCEL_ENTRIES_MAX]; /* instance << 32 | id of the resource; see entry.h */
	struct entry entries[CANCEL_ENTRIES_MAX];
};
_Static_assert(sizeof(struct slot) == 1024, "a slot is 1 KiB");

#define SLOT_HAS_ORIGIN (1u << 7) /* of `flags`: no host sets that bit, and no ledger shows it */

/* What no hot call touches in a well-behaved task. */
struct slot_cold {
	_Alignas(CACHE_LINE_BYTES) cancel_action
		action; /* owner, in BLOCKED, CHANGING or DELIVERED; read in DELIVERING */
	void *action_arg;
	pthread_t thread;	       /* the bound thread, where it opted in to pthread_cancel; */
	bool thread_valid;	       /* both like action */
	bool dropped;		       /* owner only: told to drop it already */
	uint32_t block_depth;	       /* owner only */
	_Atomic bool acknowledged;     /* owner */
	_Atomic bool thread_cancelled; /* delivery, in DELIVERING */
	_Atomic bool counted;	       /* owner: something in counts */
	_Atomic uint32_t reason;       /* delivery, in DELIVERING: of the last decision … */
	_Atomic uint64_t blamed_mask;
	_Atomic uint64_t delivered_ns;
	_Atomic uint64_t origin;  /* where SLOT_HAS_ORIGIN is set */
	_Atomic uint64_t ignores; /* controller: the task of this id ignored two cancels */
	uint64_t stopped_ns;	  /* owner only: saw its request, or gave its holds back */
	uint64_t pending_evictor; /* the stall to charge next, see eviction.c; owner only */
	uint64_t pending_ns;
	uint32_t pending_resource;	     /* index + 1; 0: nothing pending */
	bool pending_ended;		     /* the stall is over and pending_ns its length */
	_Atomic uint64_t counts[HOT_COUNTS]; /* owner: misuse met in hot calls */
};

struct folded { /* of one resource: entries that made room, and uses beyond sixteen */
	_Atomic uint64_t hold, wait; /* spans */
	_Atomic uint64_t evicted, waits, acquires;
};

/* Big and seldom touched; its pages stay unmapped until they are. */
struct slot_side {
	/* Others charge their stalls here, by compare-and-swap: generation << 48 | ns. A charge
	 * whose generation is not the slot's is nobody's; the owner clears it at its first
	 * eviction. */
	_Atomic uint64_t stall_ns[CANCEL_RESOURCES_MAX];
	struct folded folded[CANCEL_RESOURCES_MAX]; /* owner; those in folded_mask */
};

static inline void folded_clear(struct folded *f)
{
	store_release(&f->hold, 0);
	store_release(&f->wait, 0);
	store_release(&f->evicted, 0);
	store_release(&f->waits, 0);
	store_release(&f->acquires, 0);
}

struct slot_chunk {
	struct slot slots[SLOTS_PER_CHUNK];
	struct slot_cold cold[SLOTS_PER_CHUNK];
	struct slot_side side[SLOTS_PER_CHUNK];
};

/* The slot bound to this thread. Initial-exec: one load, no call, from a shared object too. */
extern internal _Thread_local struct slot *current_slot __attribute__((tls_model("initial-exec")));

extern internal struct slot_chunk
	*_Atomic slot_chunks[SLOT_CHUNKS_MAX]; /* published once, release */
extern internal _Atomic uint32_t slot_high;    /* slots ever used: readers look at [0, slot_high) */

/* Maps chunks until `count` slots can be used. Start only. 0 or CANCEL_ENOMEM. */
int slots_reserve(uint32_t count);
/* A free slot, or NULL when library_state.max_tasks are in use; and its way back. */
struct slot *slot_take(void);
void slot_give(struct slot *s);
/* In a forked child, alone: every slot is free again, every id stale. */
void slots_forget(void);

static inline struct slot *slot_at(uint32_t index)
{
	struct slot_chunk *chunk = load_acquire(&slot_chunks[index / SLOTS_PER_CHUNK]);
	return chunk ? &chunk->slots[index % SLOTS_PER_CHUNK] : NULL;
}

static inline uint32_t id_index(uint64_t id)
{
	return (uint32_t)(id & (SLOTS_MAX - 1));
}

static inline uint64_t id_generation(uint64_t id)
{
	return id >> SLOT_INDEX_BITS;
}

static inline uint64_t id_make(uint32_t index, uint64_t generation)
{
	return generation << SLOT_INDEX_BITS | index;
}

static inline enum slot_state state_in(uint64_t word)
{
	return (enum slot_state)(word & STATE_WORD_STATE);
}

static inline uint64_t generation_in(uint64_t word)
{
	return word >> STATE_WORD_GENERATION_SHIFT;
}

#endif
