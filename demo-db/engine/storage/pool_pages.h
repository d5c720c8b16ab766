/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool_pages.h - what the file layer asks of the page pool: pages of open files.
 *
 * Coherence, whatever runs at the same time: when pool_write or pool_truncate returns, no frame
 * that can still be found differs from the file. SQLite's own locks see to it that nobody reads a
 * page while it is written.
 */
#ifndef DEMO_DB_POOL_PAGES_H
#define DEMO_DB_POOL_PAGES_H

#include "demo-db/engine/storage/page_file.h"
#include "demo-db/engine/storage/shard.h"

struct db_pool {
	struct page_io io;
	struct cancel_resource resource;
	void (*before_stall)(void);
	struct frame *frames;
	uint8_t *pages; /* 4 KiB a frame, and one more: SQLite may look past a page's end */
	struct shard *shards;
	size_t mapped_bytes;
	uint32_t frame_count, shard_count, shard_frames;
	uint32_t read_ahead_pages, ring_frames;
	_Atomic uint64_t bypasses, wal_reads;
};

/* Recognises a scan by the pages one connection asks for. Used by one thread at a time. */
struct stream {
	uint32_t next;	 /* the page a scan would ask for */
	uint32_t run;	 /* pages in order so far */
	uint32_t strays; /* others since, once it is a scan */
};

#define STREAM_RUN    4u /* in order: a scan */
#define STREAM_GAP    8u /* pages a scan may jump over: interior pages of its tree */
#define STREAM_STRAYS 8u /* pages elsewhere that do not end a scan: its tree, other tables */

static inline bool stream_is_scan(const struct stream *stream)
{
	return stream->run >= STREAM_RUN;
}

/* Was the page noted last one of a scan, and not a stray? */
static inline bool stream_goes_on(const struct stream *stream)
{
	return stream_is_scan(stream) && stream->strays == 0;
}

static inline void stream_note(struct stream *stream, uint32_t page)
{
	if (page - stream->next < STREAM_GAP) {
		stream->run++;
		stream->strays = 0;
		stream->next = page + 1;
	} else if (page + 1 != stream->next &&
		   (!stream_is_scan(stream) || ++stream->strays > STREAM_STRAYS)) {
		*stream = (struct stream){ .next = page + 1, .run = 1 };
	}
}

/* One connection's view of one file. */
struct pool_reader {
	struct db_pool *pool;
	struct page_file *file;
	struct stream stream;
	void *bounce; /* 4 KiB, aligned */
};

extern _Thread_local bool pool_thread_is_gentle;

/* Pins the frame of `page` and sets `*data`; NULL: read it past the pool (no frame is free, or it
 * lies beyond the end). A negative errno: the read failed, and no frame is left of it. */
int pool_fetch(struct pool_reader *reader, uint32_t page, void **data) CANCEL_MUST_CHECK;
void pool_unfetch(struct db_pool *pool, const void *data);
/* Copies `count` bytes at `start` of a page; the number copied is less only at the end of file. */
ssize_t pool_copy(
	struct pool_reader *reader, uint32_t page, uint32_t start, uint32_t count, void *out);
/* Writes one page to the file, and to its frame if there is one. */
int pool_write(struct pool_reader *reader, uint32_t page, const void *data) CANCEL_MUST_CHECK;
/* Drops what lies at or after `first_page`. The caller holds file->writing and has cut the file. */
void pool_drop(struct db_pool *pool, const struct page_file *file, uint32_t first_page);

static inline uint64_t pool_key(const struct page_file *file, uint32_t page)
{
	return (uint64_t)file->id << 32 | page;
}

/* Neighbours lie in different shards, so a scan loads all of them alike. */
static inline struct shard *pool_shard(const struct db_pool *pool, uint64_t key)
{
	return &pool->shards[(key ^ (key >> 32) * 7) & (pool->shard_count - 1)];
}

static inline uint8_t *pool_data(const struct db_pool *pool, const struct frame *frame)
{
	return pool->pages + (size_t)frame->index * DB_POOL_PAGE_BYTES;
}

/* Gives one pin back. */
static inline void pool_unpin(struct db_pool *pool, struct frame *frame)
{
	if (!frame_unpin(frame))
		return;
	struct shard *shard = &pool->shards[frame->index / pool->shard_frames];
	pthread_mutex_lock(&shard->lock);
	shard_free(shard, frame);
	pthread_mutex_unlock(&shard->lock);
}

/* After slowByResource: the read is over. A loaded page is everybody's, so its task holds nothing:
 * 0 units end the stall. */
static inline void pool_end_stall(const struct db_pool *pool, bool usable)
{
	if (usable)
		getResource(pool->resource, 0);
	else
		giveUpResource(pool->resource);
}

/* ---- load.c ---------------------------------------------------------------------------------- */

enum load_result {
	LOAD_DONE,    /* the page is VALID and pinned by the caller */
	LOAD_NOTHING, /* no frame is free, or it lies beyond the end: read past the pool */
	LOAD_AGAIN,   /* the file changed under the load */
	LOAD_FAILED,  /* `error` says why */
};

/* Loads a page that is not resident, and the pages after it if the reader is a scan. Called with
 * the page's shard locked; returns with it unlocked. */
enum load_result load_page(
	struct pool_reader *reader, uint32_t page, struct frame **frame, int *error);
/* Waits for another thread's load of `frame`. The same about the lock. */
enum load_result load_await(struct pool_reader *reader, struct shard *shard, struct frame *frame);

#endif
