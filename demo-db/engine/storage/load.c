/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c - owns one load: the frames reserved for it, the read that fills them, who is charged for
 * the pages that had to go and for the stall. Knows how frames become VALID, not what they are for.
 *
 * A load registers its frames LOADING before it reads, so a write that ends meanwhile finds them
 * and marks them stale; a load that registers later reads what was written.
 */
#include "demo-db/engine/storage/pool_pages.h"

/* The frames of one read: consecutive pages, NULL where the page was resident already. */
struct load {
	struct page_file *file;
	uint32_t first, count;
	struct frame *frames[DB_POOL_READ_AHEAD_MAX];
	struct frame_claim claim; /* of the frame reserved last */
	/* Evictions not told yet: neighbours mostly have one owner. */
	struct cancel_task owner;
	uint32_t taken;
};

/* ---- Reserving ------------------------------------------------------------------------------- */

/* Without a lock held: the library is a guest here, and a shard is everybody's. */
static void tell_evictions(struct db_pool *pool, struct load *load)
{
	if (load->taken != 0)
		evictResource(pool->resource, load->owner, load->taken);
	load->taken = 0;
}

static void note_eviction(struct db_pool *pool, struct load *load)
{
	if (!load->claim.evicted)
		return;
	if (load->taken != 0 && load->claim.owner.id != load->owner.id)
		tell_evictions(pool, load);
	load->owner = load->claim.owner;
	load->taken++;
}

/* How many pages to read at once, the one asked for included. */
static uint32_t window_pages(const struct pool_reader *reader, uint32_t page)
{
	const struct db_pool *pool = reader->pool;
	uint32_t window = pool->read_ahead_pages;
	if (!stream_goes_on(&reader->stream) || window < 2)
		return 1;
	if (pool_thread_is_gentle && window > pool->ring_frames / 2)
		window = pool->ring_frames / 2;
	off_t bytes = page_file_bytes(reader->file);
	off_t left = bytes / DB_POOL_PAGE_BYTES - (off_t)page;
	if (left < (off_t)window)
		window = left > 1 ? (uint32_t)left : 1;
	return window > 1 ? window : 1;
}

/* Reserves what is missing of the pages after the first, as far as frames are free. */
static void reserve_ahead(struct db_pool *pool, struct load *load, uint32_t window)
{
	uint32_t wanted = 1;
	for (uint32_t i = 1; i < window; i++) {
		uint64_t key = pool_key(load->file, load->first + i);
		struct shard *shard = pool_shard(pool, key);
		pthread_mutex_lock(&shard->lock);
		bool resident = shard_find(shard, key) != NULL;
		struct frame *frame = resident ? NULL : shard_reserve(shard, key, &load->claim);
		if (frame != NULL)
			frame->untouched = true;
		pthread_mutex_unlock(&shard->lock);
		if (frame == NULL && !resident)
			break;
		if (frame != NULL)
			note_eviction(pool, load);
		load->frames[i] = frame;
		wanted = frame != NULL ? i + 1 : wanted;
	}
	load->count = wanted;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static ssize_t read_frames(const struct db_pool *pool, struct load *load, void *bounce)
{
	struct iovec pages[DB_POOL_READ_AHEAD_MAX];
	for (uint32_t i = 0; i < load->count; i++) {
		void *data = load->frames[i] != NULL ? pool_data(pool, load->frames[i]) : bounce;
		pages[i] = (struct iovec){ .iov_base = data, .iov_len = DB_POOL_PAGE_BYTES };
	}
	return page_file_read(load->file, load->first, pages, load->count);
}

/* VALID if the whole page was read and nobody wrote it meanwhile, else gone. */
static enum load_result settle(struct shard *shard, struct frame *frame, bool whole)
{
	enum load_result result = whole ? LOAD_DONE : LOAD_NOTHING;
	if (frame->stale) {
		shard->counters.discards++;
		result = LOAD_AGAIN;
	}
	if (result == LOAD_DONE)
		shard_publish(shard, frame);
	else
		shard_discard(shard, frame);
	return result;
}

/* Settles every frame; all but the first, when it is usable, are given back. */
static enum load_result settle_all(struct db_pool *pool, struct load *load, ssize_t bytes)
{
	uint32_t whole = bytes > 0 ? (uint32_t)(bytes / DB_POOL_PAGE_BYTES) : 0;
	enum load_result result = LOAD_NOTHING;
	for (uint32_t i = 0; i < load->count; i++) {
		struct frame *frame = load->frames[i];
		if (frame == NULL)
			continue;
		struct shard *shard = &pool->shards[frame->index / pool->shard_frames];
		pthread_mutex_lock(&shard->lock);
		enum load_result settled = settle(shard, frame, i < whole);
		if (i > 0 && settled == LOAD_DONE)
			shard->counters.read_ahead++;
		pthread_mutex_unlock(&shard->lock);
		if (i == 0)
			result = settled;
		if (i > 0 || settled != LOAD_DONE)
			pool_unpin(pool, frame);
	}
	return result;
}

/* ---- The two ways to a page that is not VALID ------------------------------------------------ */

/* The frame of the page asked for, and who is to blame that it is missing; unlocks the shard. */
static struct cancel_task reserve_first(struct shard *shard, struct load *load)
{
	struct cancel_task evictor = { 0 };
	struct frame *first = shard_reserve(shard, pool_key(load->file, load->first), &load->claim);
	load->frames[0] = first;
	if (first != NULL) {
		evictor = first->evictor;
		shard->counters.misses++;
		shard->counters.ghost_hits += load->claim.known;
	}
	pthread_mutex_unlock(&shard->lock);
	return evictor;
}

enum load_result load_page(
	struct pool_reader *reader, uint32_t page, struct frame **frame, int *error)
{
	struct db_pool *pool = reader->pool;
	struct load load = { .file = reader->file, .first = page, .count = 1 };
	load.claim.self = currentCancel();
	load.claim.gentle = pool_thread_is_gentle;
	struct shard *shard = pool_shard(pool, pool_key(reader->file, page));
	struct cancel_task evictor = reserve_first(shard, &load);
	if (load.frames[0] == NULL)
		return LOAD_NOTHING;

	slowByResource(pool->resource, 1);
	missResource(pool->resource, evictor);
	note_eviction(pool, &load);
	uint32_t window = window_pages(reader, page);
	if (window > 1)
		reserve_ahead(pool, &load, window);
	tell_evictions(pool, &load);
	ssize_t bytes = read_frames(pool, &load, reader->bounce);
	enum load_result result = settle_all(pool, &load, bytes);
	if (bytes < 0) {
		*error = (int)bytes;
		result = LOAD_FAILED;
	}
	pool_end_stall(pool, result == LOAD_DONE);
	*frame = result == LOAD_DONE ? load.frames[0] : NULL;
	return result;
}

enum load_result load_await(struct pool_reader *reader, struct shard *shard, struct frame *frame)
{
	struct db_pool *pool = reader->pool;
	struct cancel_task evictor = frame->evictor;
	shard->counters.waits++;
	frame_pin(frame);
	pthread_mutex_unlock(&shard->lock);

	slowByResource(pool->resource, 1);
	missResource(pool->resource, evictor);
	pthread_mutex_lock(&shard->lock);
	while (frame->state == FRAME_LOADING)
		pthread_cond_wait(&shard->loaded, &shard->lock);
	bool usable = frame->state == FRAME_VALID;
	if (usable)
		shard_touch(shard, frame, pool_thread_is_gentle);
	pthread_mutex_unlock(&shard->lock);
	pool_end_stall(pool, usable);
	if (usable)
		return LOAD_DONE;
	pool_unpin(pool, frame);
	return LOAD_AGAIN;
}
