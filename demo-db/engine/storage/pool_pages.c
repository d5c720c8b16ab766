/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_pages.c - owns the page operations of the pool: find or load, copy, write through, drop.
 * Knows nothing of SQLite; pages come and go by file and number.
 *
 * A write goes to the file first and then to the frame, and is over only after both. Writes of one
 * file come one at a time. So, of a page being written: a frame that is VALID gets the new bytes; a
 * load that registered before is marked stale, because its read may have seen the old ones; a load
 * that registers later sees the new ones. Nothing is ever inserted by a write.
 */
#include "demo-db/engine/storage/pool_pages.h"

#include <string.h>

#define LOAD_ATTEMPTS_MAX 3 /* then the page is read past the pool */

_Thread_local bool pool_thread_is_gentle;

void db_pool_gentle(bool on)
{
	pool_thread_is_gentle = on;
}

void db_pool_before_stall(struct db_pool *pool, void (*call)(void))
{
	pool->before_stall = call;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool is_valid(const struct frame *frame)
{
	return frame != NULL && frame->state == FRAME_VALID;
}

/* A page whose first look-up found no VALID frame. Called with the shard locked, returns without.
 */
static int fetch_missing(struct pool_reader *reader, struct shard *shard, uint64_t key,
	struct frame *frame, struct frame **out)
{
	int error = 0;
	for (int attempt = 1;; attempt++) {
		enum load_result result =
			frame != NULL ? load_await(reader, shard, frame)
				      : load_page(reader, (uint32_t)key, &frame, &error);
		if (result == LOAD_DONE) {
			*out = frame;
			return 0;
		}
		if (result == LOAD_FAILED)
			return error;
		if (result == LOAD_NOTHING || attempt == LOAD_ATTEMPTS_MAX)
			break;
		pthread_mutex_lock(&shard->lock);
		frame = shard_find(shard, key);
		if (is_valid(frame)) {
			frame_pin(frame);
			shard_touch(shard, frame, pool_thread_is_gentle);
			shard->counters.hits++;
			pthread_mutex_unlock(&shard->lock);
			*out = frame;
			return 0;
		}
	}
	*out = NULL;
	return 0;
}

/* A stall is somebody's, so the caller without a task gets to begin one; with the shard unlocked,
 * and then all may have changed. */
static struct frame *look_again(
	struct pool_reader *reader, struct shard *shard, uint64_t key, struct frame *frame)
{
	const struct db_pool *pool = reader->pool;
	if (pool->before_stall == NULL || pool->resource.id == 0 || currentCancel().id != 0)
		return frame;
	pthread_mutex_unlock(&shard->lock);
	pool->before_stall();
	pthread_mutex_lock(&shard->lock);
	return shard_find(shard, key);
}

/* Finds or loads the page; *out is pinned, or NULL: read it past the pool. */
static int pin_page(struct pool_reader *reader, uint32_t page, struct frame **out)
{
	uint64_t key = pool_key(reader->file, page);
	struct shard *shard = pool_shard(reader->pool, key);
	stream_note(&reader->stream, page);
	pthread_mutex_lock(&shard->lock);
	struct frame *frame = shard_find(shard, key);
	if (!is_valid(frame))
		frame = look_again(reader, shard, key, frame);
	if (!is_valid(frame))
		return fetch_missing(reader, shard, key, frame, out);
	frame_pin(frame);
	shard_touch(shard, frame, pool_thread_is_gentle);
	shard->counters.hits++;
	pthread_mutex_unlock(&shard->lock);
	*out = frame;
	return 0;
}

int pool_fetch(struct pool_reader *reader, uint32_t page, void **data)
{
	struct frame *frame = NULL;
	int rc = pin_page(reader, page, &frame);
	*data = frame != NULL ? pool_data(reader->pool, frame) : NULL;
	return rc;
}

void pool_unfetch(struct db_pool *pool, const void *data)
{
	size_t index = (size_t)((const uint8_t *)data - pool->pages) / DB_POOL_PAGE_BYTES;
	pool_unpin(pool, &pool->frames[index]);
}

/* Reads the page straight from the file. The bounce buffer keeps O_DIRECT aligned. */
static ssize_t copy_past_pool(
	struct pool_reader *reader, uint32_t page, uint32_t start, uint32_t count, void *out)
{
	struct db_pool *pool = reader->pool;
	struct iovec whole = { .iov_base = reader->bounce, .iov_len = DB_POOL_PAGE_BYTES };
	atomic_fetch_add_explicit(&pool->bypasses, 1, memory_order_relaxed);
	slowByResource(pool->resource, 1);
	ssize_t bytes = page_file_read(reader->file, page, &whole, 1);
	pool_end_stall(pool, bytes >= 0);
	if (bytes < 0)
		return bytes;
	ssize_t there = bytes - (ssize_t)start;
	there = there < 0 ? 0 : there;
	there = there > (ssize_t)count ? (ssize_t)count : there;
	memcpy(out, (uint8_t *)reader->bounce + start, (size_t)there);
	return there;
}

ssize_t pool_copy(
	struct pool_reader *reader, uint32_t page, uint32_t start, uint32_t count, void *out)
{
	struct frame *frame = NULL;
	int rc = pin_page(reader, page, &frame);
	if (rc != 0)
		return rc;
	if (frame == NULL)
		return copy_past_pool(reader, page, start, count, out);
	/* Not every copy is under a lock of SQLite's (the header is not): never a torn one. */
	struct shard *shard = &reader->pool->shards[frame->index / reader->pool->shard_frames];
	pthread_mutex_lock(&shard->lock);
	memcpy(out, pool_data(reader->pool, frame) + start, count);
	pthread_mutex_unlock(&shard->lock);
	pool_unpin(reader->pool, frame);
	return (ssize_t)count;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* The file has changed, or after a failed write may have: so does the frame. */
static void update_frame(const struct db_pool *pool, uint64_t key, const void *data, bool written)
{
	struct shard *shard = pool_shard(pool, key);
	pthread_mutex_lock(&shard->lock);
	struct frame *frame = shard_find(shard, key);
	if (frame != NULL && frame->state == FRAME_LOADING)
		frame->stale = true;
	else if (frame != NULL && written)
		memcpy(pool_data(pool, frame), data, DB_POOL_PAGE_BYTES);
	else if (frame != NULL)
		shard_discard(shard, frame);
	pthread_mutex_unlock(&shard->lock);
}

int pool_write(struct pool_reader *reader, uint32_t page, const void *data)
{
	memcpy(reader->bounce, data, DB_POOL_PAGE_BYTES);
	pthread_mutex_lock(&reader->file->writing);
	int rc = page_file_write(reader->file, page, reader->bounce);
	update_frame(reader->pool, pool_key(reader->file, page), data, rc == 0);
	pthread_mutex_unlock(&reader->file->writing);
	return rc;
}

void pool_drop(struct db_pool *pool, const struct page_file *file, uint32_t first_page)
{
	for (uint32_t s = 0; s < pool->shard_count; s++) {
		struct shard *shard = &pool->shards[s];
		pthread_mutex_lock(&shard->lock);
		for (uint32_t i = 0; i < shard->count; i++) {
			struct frame *frame = &pool->frames[shard->first + i];
			bool theirs = frame->key >> 32 == file->id;
			if (!theirs || (uint32_t)frame->key < first_page)
				continue;
			if (frame->state == FRAME_LOADING)
				frame->stale = true;
			else if (frame->state == FRAME_VALID)
				shard_discard(shard, frame);
		}
		pthread_mutex_unlock(&shard->lock);
	}
}
