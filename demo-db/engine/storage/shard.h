/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard.h - the frames of one part of the page pool: which page is where, which goes next.
 *
 * A frame is FREE, LOADING (its loader holds a pin and reads the file into it), VALID, or GONE:
 * taken out of the table while somebody still holds it, freed by the last holder.
 */
#ifndef DEMO_DB_SHARD_H
#define DEMO_DB_SHARD_H

#include "demo-db/engine/storage/ghost.h"

#include <pthread.h>
#include <stdatomic.h>

#define FRAME_DOOMED 0x80000000u /* in frame.pins: the last holder frees it */

enum frame_state { FRAME_FREE, FRAME_LOADING, FRAME_VALID, FRAME_GONE };

/* Young then old is one LRU order, newest first; without a midpoint all are young. The ring holds
 * what gentle readers loaded. */
enum frame_list { LIST_YOUNG, LIST_OLD, LIST_RING, LIST_COUNT, LIST_NONE = LIST_COUNT };

struct frame {
	/* Holders, and FRAME_DOOMED. 0 -> 1 only under the shard's lock; given back without it
	 * (release), seen by the evictor under it (acquire). */
	_Alignas(64) _Atomic uint32_t pins;
	/* All below: under the shard's lock. */
	uint32_t index; /* of the frame and its 4 KiB in the pool; constant */
	uint32_t chain; /* next in the bucket, or next free */
	uint32_t newer, older;
	uint32_t stamp; /* the shard's clock at its last move to the front */
	uint64_t key;	/* file id and page */
	uint8_t state, list;
	bool in_ring;		    /* counted in the ring, also while LOADING */
	bool stale;		    /* LOADING: the file changed under it */
	bool untouched;		    /* read ahead, not asked for yet */
	struct cancel_task owner;   /* who loaded it */
	struct cancel_task evictor; /* LOADING: who evicted this page before */
};

struct frame_queue {
	uint32_t newest, oldest, count;
};

struct shard_counters {
	uint64_t hits, misses, waits, evictions, ghost_hits, read_ahead, discards;
};

struct shard {
	/* What every hit touches, in two cache lines: one written, one only read. */
	_Alignas(128) pthread_mutex_t lock; /* guards all below */
	uint32_t clock;			    /* moves to the front */
	uint32_t free;
	struct shard_counters counters;
	_Alignas(64) struct frame *frames; /* of the whole pool: frames[index] */
	uint32_t *buckets;
	uint32_t bucket_shift;
	uint32_t first, count; /* its own frames */
	uint32_t ring_max;
	uint32_t midpoint_percent;
	_Alignas(64) pthread_cond_t loaded; /* a LOADING frame became something else */
	uint32_t ring_count, ring_stamp;
	struct frame_queue lists[LIST_COUNT];
	struct ghost_directory ghosts;
};

struct shard_options {
	struct frame *frames;
	uint32_t first, count, ring_max, ghost_capacity, midpoint_percent;
};

struct frame_claim {
	struct cancel_task self; /* in: who loads */
	bool gentle;		 /* in: from the ring */
	bool evicted;		 /* out: a page of `owner` had to go */
	bool known;		 /* out: the ghost directory knew the page */
	struct cancel_task owner;
};

int shard_init(struct shard *shard, const struct shard_options *options) CANCEL_MUST_CHECK;
void shard_destroy(struct shard *shard);

/* All below: with the lock held. */
struct frame *shard_find(const struct shard *shard, uint64_t key);
/* A hit of `frame`: the LRU order learns of it. */
void shard_touch(struct shard *shard, struct frame *frame, bool gentle);
/* A frame for `key`, LOADING and pinned once by the caller, findable from now on; NULL: every
 * frame is held. */
struct frame *shard_reserve(struct shard *shard, uint64_t key, struct frame_claim *claim);
/* LOADING becomes VALID, and wakes who waits for it. The caller keeps its pin. */
void shard_publish(struct shard *shard, struct frame *frame);
/* Out of the table: nobody finds it any more. Freed now or by its last holder. */
void shard_discard(struct shard *shard, struct frame *frame);
/* Gives a GONE frame without holders back. */
void shard_free(struct shard *shard, struct frame *frame);

static inline void frame_pin(struct frame *frame)
{
	atomic_fetch_add_explicit(&frame->pins, 1, memory_order_relaxed);
}

/* True: it was the last pin of a GONE frame, and the caller must shard_free it under the lock. */
static inline bool frame_unpin(struct frame *frame)
{
	return atomic_fetch_sub_explicit(&frame->pins, 1, memory_order_acq_rel) ==
	       (FRAME_DOOMED | 1);
}

#endif
