/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shard.c - owns the table and the replacement order of one shard of the page pool: hash chains,
 * LRU lists, the gentle ring, the free list. Knows no file and does no I/O; locking is the
 * caller's, except that pins are given back without the lock (see struct frame).
 *
 * Holders. A frame is pinned 0 -> 1 only under the lock, so an evictor that holds the lock and sees
 * no pin (acquire, against the release of the last unpin) owns the frame. A frame taken out of the
 * table gets FRAME_DOOMED in the same word as its pins: whoever of the doomer and the last holder
 * comes second sees the other and frees it, exactly once.
 */
#include "demo-db/engine/storage/shard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

int shard_init(struct shard *shard, const struct shard_options *options)
{
	*shard = (struct shard){
		.frames = options->frames,
		.first = options->first,
		.count = options->count,
		.free = NONE,
		.ring_max = options->ring_max,
		.midpoint_percent = options->midpoint_percent,
	};
	for (int i = 0; i < LIST_COUNT; i++)
		shard->lists[i] = (struct frame_queue){ .newest = NONE, .oldest = NONE };
	uint32_t bits = 1;
	while ((UINT64_C(1) << bits) < 2 * (uint64_t)options->count)
		bits++;
	shard->bucket_shift = 64 - bits;
	shard->buckets = malloc(sizeof(*shard->buckets) << bits);
	if (shard->buckets == NULL || ghost_init(&shard->ghosts, options->ghost_capacity) != 0) {
		free(shard->buckets);
		shard->buckets = NULL;
		return -ENOMEM;
	}
	memset(shard->buckets, 0xff, sizeof(*shard->buckets) << bits);
	for (uint32_t i = options->count; i-- > 0;) {
		struct frame *frame = &shard->frames[options->first + i];
		*frame = (struct frame){ .index = options->first + i, .list = LIST_NONE };
		frame->chain = shard->free;
		shard->free = frame->index;
	}
	/* Held for tens of nanoseconds: spin a little before sleeping. */
	pthread_mutexattr_t adaptive;
	pthread_mutexattr_init(&adaptive);
	pthread_mutexattr_settype(&adaptive, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(&shard->lock, &adaptive);
	pthread_mutexattr_destroy(&adaptive);
	pthread_cond_init(&shard->loaded, NULL);
	return 0;
}

void shard_destroy(struct shard *shard)
{
	if (shard->buckets == NULL)
		return;
	pthread_cond_destroy(&shard->loaded);
	pthread_mutex_destroy(&shard->lock);
	ghost_destroy(&shard->ghosts);
	free(shard->buckets);
	shard->buckets = NULL;
}

/* ---- Table ----------------------------------------------------------------------------------- */

static uint32_t *bucket_of(const struct shard *shard, uint64_t key)
{
	return &shard->buckets[(key * 0x9e3779b97f4a7c15u) >> shard->bucket_shift];
}

struct frame *shard_find(const struct shard *shard, uint64_t key)
{
	for (uint32_t i = *bucket_of(shard, key); i != NONE; i = shard->frames[i].chain) {
		if (shard->frames[i].key == key)
			return &shard->frames[i];
	}
	return NULL;
}

static void table_remove(struct shard *shard, struct frame *frame)
{
	uint32_t *link = bucket_of(shard, frame->key);
	while (*link != frame->index)
		link = &shard->frames[*link].chain;
	*link = frame->chain;
}

static void table_insert(struct shard *shard, struct frame *frame)
{
	uint32_t *bucket = bucket_of(shard, frame->key);
	frame->chain = *bucket;
	*bucket = frame->index;
}

/* ---- Order ----------------------------------------------------------------------------------- */

static void list_remove(struct shard *shard, struct frame *frame)
{
	if (frame->list == LIST_NONE)
		return;
	struct frame_queue *list = &shard->lists[frame->list];
	if (frame->newer == NONE)
		list->newest = frame->older;
	else
		shard->frames[frame->newer].older = frame->older;
	if (frame->older == NONE)
		list->oldest = frame->newer;
	else
		shard->frames[frame->older].newer = frame->newer;
	list->count--;
	frame->list = LIST_NONE;
}

static void list_push(struct shard *shard, struct frame *frame, enum frame_list which)
{
	struct frame_queue *list = &shard->lists[which];
	frame->newer = NONE;
	frame->older = list->newest;
	if (list->newest == NONE)
		list->oldest = frame->index;
	else
		shard->frames[list->newest].newer = frame->index;
	list->newest = frame->index;
	list->count++;
	frame->list = (uint8_t)which;
}

static void list_push_oldest(struct shard *shard, struct frame *frame, enum frame_list which)
{
	struct frame_queue *list = &shard->lists[which];
	frame->older = NONE;
	frame->newer = list->oldest;
	if (list->oldest == NONE)
		list->newest = frame->index;
	else
		shard->frames[list->oldest].older = frame->index;
	list->oldest = frame->index;
	list->count++;
	frame->list = (uint8_t)which;
}

/* Frames moved to the front since `stamp` bound how deep it lies; in the newest eighth a hit need
 * not move it. */
static uint32_t young_depth(const struct shard *shard)
{
	return shard->count / 8;
}

/* Slides the border between young and old to where midpoint_percent wants it. */
static void balance(struct shard *shard)
{
	struct frame_queue *young = &shard->lists[LIST_YOUNG];
	struct frame_queue *old = &shard->lists[LIST_OLD];
	uint32_t wanted = (young->count + old->count) * shard->midpoint_percent / 100;
	while (old->count > wanted) {
		struct frame *frame = &shard->frames[old->newest];
		list_remove(shard, frame);
		list_push_oldest(shard, frame, LIST_YOUNG);
	}
	while (old->count < wanted) {
		struct frame *frame = &shard->frames[young->oldest];
		list_remove(shard, frame);
		list_push(shard, frame, LIST_OLD);
	}
}

static void move_to_front(struct shard *shard, struct frame *frame)
{
	list_remove(shard, frame);
	list_push(shard, frame, LIST_YOUNG);
	frame->stamp = ++shard->clock;
	if (shard->midpoint_percent != 0)
		balance(shard);
}

static void leave_ring(struct shard *shard, struct frame *frame)
{
	if (frame->in_ring)
		shard->ring_count--;
	frame->in_ring = false;
}

void shard_touch(struct shard *shard, struct frame *frame, bool gentle)
{
	if (gentle)
		return;
	if (frame->list == LIST_YOUNG && shard->clock - frame->stamp < young_depth(shard))
		return;
	bool first_touch = frame->untouched;
	frame->untouched = false;
	if (first_touch && shard->midpoint_percent != 0)
		return; /* of a page read ahead: that is its load, not a second use */
	leave_ring(shard, frame);
	move_to_front(shard, frame);
}

/* Where a loaded page enters the order. */
static void enter_order(struct shard *shard, struct frame *frame)
{
	if (frame->in_ring) {
		list_push(shard, frame, LIST_RING);
		shard->ring_stamp = shard->clock;
	} else if (shard->midpoint_percent == 0) {
		move_to_front(shard, frame);
	} else {
		list_push(shard, frame, LIST_OLD);
		frame->stamp = shard->clock - young_depth(shard);
		balance(shard);
	}
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* The oldest frame of a list that nobody holds; held ones are in use, so they go to the front. */
static struct frame *oldest_unheld(struct shard *shard, enum frame_list which)
{
	for (uint32_t left = shard->lists[which].count; left > 0; left--) {
		struct frame *frame = &shard->frames[shard->lists[which].oldest];
		if (atomic_load_explicit(&frame->pins, memory_order_acquire) == 0)
			return frame;
		list_remove(shard, frame);
		list_push(shard, frame, which);
	}
	return NULL;
}

static struct frame *victim(struct shard *shard)
{
	/* A ring nobody has filled for a while is only memory lost. */
	bool ring_idle = shard->clock - shard->ring_stamp > young_depth(shard);
	struct frame *frame = ring_idle ? oldest_unheld(shard, LIST_RING) : NULL;
	if (frame == NULL)
		frame = oldest_unheld(shard, LIST_OLD);
	if (frame == NULL)
		frame = oldest_unheld(shard, LIST_YOUNG);
	if (frame == NULL)
		frame = oldest_unheld(shard, LIST_RING);
	return frame;
}

/* Takes the frame from its page. A page of the ring was never more than passing through: nobody
 * loses it, and it is not remembered. */
static void evict(struct shard *shard, struct frame *frame, struct frame_claim *claim)
{
	table_remove(shard, frame);
	list_remove(shard, frame);
	if (frame->in_ring) {
		leave_ring(shard, frame);
		return;
	}
	claim->evicted = true;
	claim->owner = frame->owner;
	ghost_remember(&shard->ghosts, frame->key, claim->self);
	shard->counters.evictions++;
}

/* A free frame, or the one whose page goes; out of table and order. */
static struct frame *take_frame(struct shard *shard, struct frame_claim *claim)
{
	bool ring_full = claim->gentle && shard->ring_count >= shard->ring_max;
	struct frame *frame;
	if (shard->free != NONE && !ring_full) {
		frame = &shard->frames[shard->free];
		shard->free = frame->chain;
		return frame;
	}
	frame = ring_full ? oldest_unheld(shard, LIST_RING) : victim(shard);
	if (frame != NULL)
		evict(shard, frame, claim);
	return frame;
}

struct frame *shard_reserve(struct shard *shard, uint64_t key, struct frame_claim *claim)
{
	claim->evicted = false;
	struct frame *frame = take_frame(shard, claim);
	if (frame == NULL)
		return NULL;
	frame->key = key;
	frame->state = FRAME_LOADING;
	frame->stale = false;
	frame->untouched = false;
	frame->in_ring = claim->gentle;
	shard->ring_count += claim->gentle ? 1 : 0;
	frame->owner = claim->self;
	claim->known = ghost_take(&shard->ghosts, key, &frame->evictor);
	atomic_store_explicit(&frame->pins, 1, memory_order_relaxed);
	table_insert(shard, frame);
	return frame;
}

void shard_publish(struct shard *shard, struct frame *frame)
{
	frame->state = FRAME_VALID;
	enter_order(shard, frame);
	pthread_cond_broadcast(&shard->loaded);
}

void shard_discard(struct shard *shard, struct frame *frame)
{
	table_remove(shard, frame);
	list_remove(shard, frame);
	leave_ring(shard, frame);
	frame->state = FRAME_GONE;
	if (atomic_fetch_or_explicit(&frame->pins, FRAME_DOOMED, memory_order_acq_rel) == 0)
		shard_free(shard, frame);
	else
		pthread_cond_broadcast(&shard->loaded);
}

void shard_free(struct shard *shard, struct frame *frame)
{
	atomic_store_explicit(&frame->pins, 0, memory_order_relaxed);
	frame->state = FRAME_FREE;
	frame->key = 0;
	frame->chain = shard->free;
	shard->free = frame->index;
}
